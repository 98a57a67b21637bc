package blob

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Artifact says what a file is.
type Artifact struct {
	Name   string `json:"name"` // see ValidName
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // of the bytes, in lower-case hexadecimal
}

// The most that the name of an artifact, and one of its parts, may have in bytes.
const (
	MaxNameBytes = 512
	MaxPartBytes = 255
)

// Why an artifact is refused. Nothing is stored then.
var (
	ErrBadName    = errors.New("bad name of an artifact")
	ErrNoArtifact = errors.New("no such artifact")
	ErrMismatch   = errors.New("the bytes are not those that were announced")
	ErrFull       = errors.New("no room on the disk")
	ErrShort      = errors.New("the bytes broke off")
)

// LimitError refuses a file that is too large, or one too many.
type LimitError struct {
	What  string // "bytes" or "artifacts"
	Limit int64
}

func (e *LimitError) Error() string { return fmt.Sprintf("more than %d %s", e.Limit, e.What) }

// ValidName tells whether an artifact can have the name: parts of 1 to 255 bytes joined by '/', 512 bytes in all, none of
// them "." or "..", of valid UTF-8 without control characters.
func ValidName(name string) bool {
	if len(name) > MaxNameBytes || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." || len(part) > MaxPartBytes {
			return false
		}
	}
	return true
}

// An artifact is one file in the directory of its key: a line of JSON that says what it is, then its bytes. The file is
// called after the digest of the name, so that names need no escapes and cannot lead anywhere. '=' keeps it apart from
// parts of keys and from segments.
const artifactMark = "="

func artifactFile(key, name string) string {
	sum := sha256.Sum256([]byte(name))
	return path.Join(key, artifactMark+hex.EncodeToString(sum[:]))
}

// uploads is where files lie until they are whole. A key cannot begin with '@'.
const uploads = "@uploads"

// PutArtifact reads the bytes of a from body and stores them under key, instead of those that had the name before. It
// returns when they are on the disk. When they are there already, body is not read. If it fails nothing has changed: the
// same call again is right.
func (s *Store) PutArtifact(ctx context.Context, key string, a Artifact, body io.Reader) error {
	mu, err := s.lock(key)
	if err != nil {
		return err
	}
	switch {
	case !ValidName(a.Name):
		return ErrBadName
	case a.Bytes < 0:
		return fmt.Errorf("store artifact: negative size %d", a.Bytes)
	case a.Bytes > s.opt.ArtifactBytes:
		return &LimitError{What: "bytes", Limit: s.opt.ArtifactBytes}
	}
	mu.RLock()
	there, err := s.admits(key, a)
	mu.RUnlock()
	if there || err != nil {
		return err
	}
	arriving := s.arriving.Add(a.Bytes) // what is on its way beside it needs its room as well
	defer s.arriving.Add(-a.Bytes)
	if !s.opt.Room(arriving) {
		return ErrFull
	}
	temporary, err := s.receive(a, body) // without the lock: it takes as long as the network does
	if err != nil {
		return fmt.Errorf("store artifact: %w", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if err := s.keep(ctx, key, a, temporary); err != nil {
		return errors.Join(fmt.Errorf("store artifact: %w", err), s.root.Remove(temporary))
	}
	return nil
}

// admits tells whether a is stored already, and refuses one artifact too many.
func (s *Store) admits(key string, a Artifact) (there bool, err error) {
	f, err := s.openArtifact(artifactFile(key, a.Name))
	if err == nil {
		defer f.Close()
		return f.Artifact == a, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("store artifact: %w", err)
	}
	files, err := s.artifactFiles(key)
	if err != nil {
		return false, fmt.Errorf("store artifact: %w", err)
	}
	if int64(len(files)) >= s.opt.Artifacts {
		return false, &LimitError{What: "artifacts", Limit: s.opt.Artifacts}
	}
	return false, nil
}

// receive writes the whole artifact to a file among the uploads. On an error there is no such file.
func (s *Store) receive(a Artifact, body io.Reader) (file string, err error) {
	name := path.Join(uploads, strconv.FormatInt(s.serial.Add(1), 10))
	if err := s.root.MkdirAll(uploads, 0o700); err != nil {
		return "", err
	}
	f, err := s.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, s.root.Remove(name))
		}
	}()
	head, err := json.Marshal(a)
	if err != nil {
		return "", err
	}
	if _, err := f.Write(append(head, '\n')); err != nil {
		return "", err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(body, a.Bytes))
	switch {
	case err != nil:
		return "", err
	case n < a.Bytes:
		return "", ErrShort
	case hex.EncodeToString(sum.Sum(nil)) != a.SHA256:
		return "", ErrMismatch
	}
	if n, err := io.ReadFull(body, make([]byte, 1)); n > 0 {
		return "", ErrMismatch
	} else if !errors.Is(err, io.EOF) {
		return "", err
	}
	return name, f.Sync()
}

// keep moves a file of the uploads to where its name is, for good.
func (s *Store) keep(ctx context.Context, key string, a Artifact, temporary string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.refuseExpired(key); err != nil {
		return err
	}
	if _, err := s.admits(key, a); err != nil { // others came while this one was on its way
		return err
	}
	if err := s.root.MkdirAll(key, 0o700); err != nil {
		return err
	}
	if err := s.root.Rename(temporary, artifactFile(key, a.Name)); err != nil {
		return err
	}
	dir, err := s.root.Open(key)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// File is a stored artifact, as it was when it was opened. It is for one goroutine; close it.
type File struct {
	Artifact
	io.ReadSeeker
	file *os.File
}

// Close releases the file.
func (f *File) Close() error { return f.file.Close() }

// Artifact opens one; ErrNoArtifact if there is none of the name.
func (s *Store) Artifact(key, name string) (*File, error) {
	mu, err := s.lock(key)
	if err != nil {
		return nil, err
	}
	if !ValidName(name) {
		return nil, ErrNoArtifact
	}
	mu.RLock()
	defer mu.RUnlock()
	f, err := s.openArtifact(artifactFile(key, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoArtifact
	}
	if err != nil {
		return nil, fmt.Errorf("read artifact: %w", err)
	}
	return f, nil
}

// Artifacts lists those under key by name.
func (s *Store) Artifacts(key string) ([]Artifact, error) {
	mu, err := s.lock(key)
	if err != nil {
		return nil, err
	}
	mu.RLock()
	defer mu.RUnlock()
	files, err := s.artifactFiles(key)
	if err != nil {
		return nil, fmt.Errorf("list artifacts: %w", err)
	}
	var found []Artifact
	for _, name := range files {
		f, err := s.openArtifact(path.Join(key, name))
		if err != nil {
			return nil, fmt.Errorf("list artifacts: %w", err)
		}
		found = append(found, f.Artifact)
		_ = f.Close() // nothing was written
	}
	slices.SortFunc(found, func(a, b Artifact) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}

func (s *Store) artifactFiles(key string) ([]string, error) {
	entries, err := fs.ReadDir(s.root.FS(), key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), artifactMark) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// maxHead is more than the first line of an artifact can be: JSON writes a byte of the name as six at most.
const maxHead = 6*MaxNameBytes + 256

func (s *Store) openArtifact(file string) (*File, error) {
	f, err := s.root.Open(file)
	if err != nil {
		return nil, err
	}
	opened := &File{file: f}
	head, err := bufio.NewReaderSize(io.LimitReader(f, maxHead), maxHead).ReadSlice('\n')
	if err == nil {
		err = json.Unmarshal(head, &opened.Artifact)
	}
	if err == nil && artifactFile(path.Dir(file), opened.Name) != file {
		err = errors.New("it is not this file's")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("first line of %s: %w", file, err), f.Close())
	}
	opened.ReadSeeker = io.NewSectionReader(f, int64(len(head)), opened.Bytes)
	return opened, nil
}
