package blob

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"strings"
	"time"
)

// ErrExpired refuses bytes for a task whose bytes were removed after their retention.
var ErrExpired = errors.New("the bytes of the task were removed after their retention")

// expiryFile stands in the directory of a task whose bytes were removed. It is there before the first of them goes: whatever
// dies in between, nobody takes half of the bytes for all, and the next Expire finishes. No part of a key has this name.
const expiryFile = ".expired"

// Arriving ends the keys under which it is kept what is on its way. Their bytes are no log's.
const Arriving = ".arriving"

// Expiry says when the bytes of a task were removed, and what there was.
type Expiry struct {
	At        time.Time `json:"at"`
	LogBytes  int64     `json:"log_bytes"` // as they lay on the disk
	Artifacts int       `json:"artifacts"`
}

// Expired tells whether the bytes under the first part of a key were removed by [Store.Expire]. Who has opened something asks
// afterwards: if it says no then, all of it was there.
func (s *Store) Expired(first string) (e Expiry, expired bool, err error) {
	file := path.Join(first, expiryFile)
	text, err := s.root.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return e, false, nil
	}
	if err != nil {
		return e, false, fmt.Errorf("read expiry: %w", err)
	}
	if json.Unmarshal(text, &e) == nil {
		return e, true, nil
	}
	info, err := s.root.Stat(file) // the machine died while it was written
	if err != nil {
		return e, false, fmt.Errorf("read expiry: %w", err)
	}
	return Expiry{At: info.ModTime(), LogBytes: 1, Artifacts: 1}, true, nil
}

// refuseExpired is for those who write, under the lock of the key.
func (s *Store) refuseExpired(key string) error {
	first, _, _ := strings.Cut(key, "/")
	if _, err := s.root.Stat(path.Join(first, expiryFile)); err == nil {
		return ErrExpired
	}
	return nil
}

// Expire removes all bytes under the first part of a key, as of the time at, and leaves a note of it, with which nothing can
// be written there any more. [Store.Remove] takes the note too. Of what has no bytes there is no note.
func (s *Store) Expire(first string, at time.Time) error {
	mu, err := s.lock(first)
	if err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	_, expired, err := s.Expired(first)
	if err != nil {
		return err
	}
	if !expired {
		h, err := s.holding(first)
		if err != nil || h.Bytes == 0 {
			return err
		}
		if err := s.noteExpiry(first, Expiry{At: at.UTC(), LogBytes: h.logBytes, Artifacts: h.artifacts}); err != nil {
			return fmt.Errorf("expire %s: %w", first, err)
		}
	}
	entries, err := fs.ReadDir(s.root.FS(), first)
	if err != nil {
		return fmt.Errorf("expire %s: %w", first, err)
	}
	for _, e := range entries {
		if e.Name() == expiryFile {
			continue
		}
		if err := s.root.RemoveAll(path.Join(first, e.Name())); err != nil {
			return fmt.Errorf("expire %s: %w", first, err)
		}
	}
	return nil
}

// noteExpiry returns when the note is on the disk.
func (s *Store) noteExpiry(first string, e Expiry) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f, err := s.root.OpenFile(path.Join(first, expiryFile), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	dir, err := s.root.Open(first)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Holding is what lies under the first part of a key.
type Holding struct {
	First    string
	Bytes    int64     // of files, as they lie on the disk, without the note of an expiry
	Modified time.Time // of its directory
	Expired  bool      // with Bytes: the removal was interrupted

	logBytes  int64
	artifacts int
}

// Holdings lists everything that lies in the store. What comes and goes meanwhile may be listed or not. With an error it is
// what cannot be looked at, and the rest follows.
func (s *Store) Holdings() iter.Seq2[Holding, error] {
	return func(yield func(Holding, error) bool) {
		dir, err := s.root.Open(".")
		if err != nil {
			yield(Holding{}, fmt.Errorf("list what is stored: %w", err))
			return
		}
		defer dir.Close()
		for {
			names, err := dir.Readdirnames(256)
			for _, name := range names {
				if !keyPattern.MatchString(name) {
					continue // uploads
				}
				h, err := s.holding(name)
				if errors.Is(err, fs.ErrNotExist) {
					continue
				}
				if !yield(h, err) {
					return
				}
			}
			if len(names) == 0 || err != nil {
				return
			}
		}
	}
}

func (s *Store) holding(first string) (Holding, error) {
	h := Holding{First: first}
	err := fs.WalkDir(s.root.FS(), first, func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return ignoreGone(err)
		}
		info, err := e.Info()
		switch {
		case err != nil:
			return ignoreGone(err)
		case file == first:
			h.Modified = info.ModTime()
		case path.Base(file) == expiryFile:
			h.Expired = true
		case e.IsDir():
		case strings.HasPrefix(e.Name(), artifactMark):
			h.Bytes, h.artifacts = h.Bytes+info.Size(), h.artifacts+1
		case strings.HasSuffix(path.Dir(file), Arriving):
			h.Bytes += info.Size()
		default:
			h.Bytes, h.logBytes = h.Bytes+info.Size(), h.logBytes+info.Size()
		}
		return nil
	})
	if err != nil {
		return h, fmt.Errorf("look at %s: %w", first, err)
	}
	return h, nil
}

// ignoreGone is for files that are evicted, or replaced, while they are counted.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
