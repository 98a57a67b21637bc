package blob

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
)

// Files beside the segments of a log. Neither name can be a part of a key.
const (
	openFile = ".open" // more was announced
	endFile  = ".end"  // holds the size with which the log was said to be whole
)

// Piece is a part of a log.
type Piece struct {
	At   int64 // of its first byte, or where that will be. Beyond the offset that was asked for: the bytes between were left out
	N    int   // bytes of it; 0: there are none yet
	Open bool  // more was announced than there is
}

// Piece reads into p what the log has from the runner's byte number offset on, as far as one segment goes. It does not
// keep a writer waiting for the disk.
func (s *Store) Piece(key string, offset int64, p []byte) (Piece, error) {
	piece, file, from, err := s.find(key, offset, int64(len(p)))
	if err != nil || file == nil {
		return piece, err
	}
	defer file.Close()
	n, err := file.ReadAt(p[:piece.N], from)
	if err != nil && !(errors.Is(err, io.EOF) && n > 0) {
		return Piece{}, fmt.Errorf("read log %s: %w", key, err)
	}
	piece.N = n
	return piece, nil
}

// find opens the file that the piece is in; nil: there is none.
func (s *Store) find(key string, offset, most int64) (piece Piece, file *os.File, from int64, err error) {
	mu, err := s.lock(key)
	if err != nil {
		return piece, nil, 0, err
	}
	mu.RLock()
	defer mu.RUnlock()
	l, err := s.load(key)
	if err == nil {
		piece.Open, err = s.isOpen(l)
	}
	if err != nil {
		return piece, nil, 0, fmt.Errorf("read log %s: %w", key, err)
	}
	piece.At = max(offset, 0)
	for _, seg := range l.segs {
		start := seg.index * s.opt.SegmentBytes
		if start+seg.size <= piece.At {
			continue
		}
		piece.At = max(piece.At, start)
		piece.N = int(min(start+seg.size-piece.At, most))
		file, err = s.root.Open(path.Join(key, segmentName(seg.index)))
		if err != nil {
			return piece, nil, 0, fmt.Errorf("read log %s: %w", key, err)
		}
		return piece, file, piece.At - start, nil
	}
	return piece, nil, 0, nil
}

// isOpen reports whether more of l was announced. Nobody announced anything of a log that has no directory.
func (s *Store) isOpen(l log) (bool, error) {
	if _, err := s.root.Stat(path.Join(l.key, openFile)); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	text, err := s.root.ReadFile(path.Join(l.key, endFile))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	size, err := strconv.ParseInt(string(text), 10, 64)
	return err != nil || size != l.size, nil // a torn one says nothing
}

// Announce says that more of the log will come: it is open until [Store.Finish].
func (s *Store) Announce(key string) error { return s.note(key, openFile, nil) }

// Finish says that the log is whole with size bytes, whatever was or will be announced. If it has fewer, the error is a
// *GapError.
func (s *Store) Finish(key string, size int64) error {
	return s.note(key, endFile, func(l log) ([]byte, error) {
		if l.size < size {
			return nil, &GapError{Next: l.size}
		}
		return strconv.AppendInt(nil, l.size, 10), nil
	})
}

// note writes a file beside the segments.
func (s *Store) note(key, name string, content func(log) ([]byte, error)) error {
	mu, err := s.lock(key)
	if err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	if err := s.refuseExpired(key); err != nil {
		return err
	}
	var text []byte
	if content != nil {
		l, err := s.load(key)
		if err == nil {
			text, err = content(l)
		}
		if err != nil {
			return fmt.Errorf("finish log %s: %w", key, err)
		}
	}
	if err := s.root.MkdirAll(key, 0o700); err != nil {
		return fmt.Errorf("note on log %s: %w", key, err)
	}
	if err := s.root.WriteFile(path.Join(key, name), text, 0o600); err != nil {
		return fmt.Errorf("note on log %s: %w", key, err)
	}
	return nil
}
