package blob

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

// Reader reads a log as it was when it was opened. It is for one goroutine.
type Reader struct {
	io.Reader
	end   int64
	files []*os.File
}

// End is where the log ended when it was opened: who follows a log goes on there.
func (r *Reader) End() int64 { return r.end }

// Close releases the files.
func (r *Reader) Close() error {
	var errs []error
	for _, f := range r.files {
		errs = append(errs, f.Close())
	}
	r.files = nil
	return errors.Join(errs...)
}

// Read opens the whole log: what is kept of it, with a marker where bytes were left
// out. A log that is not there is empty.
func (s *Store) Read(key string) (*Reader, error) { return s.ReadFrom(key, 0) }

// ReadFrom opens the log from the runner's byte number offset on. An offset among the
// bytes that were left out starts with the marker; one behind the end reads nothing.
func (s *Store) ReadFrom(key string, offset int64) (*Reader, error) {
	mu, err := s.lock(key)
	if err != nil {
		return nil, err
	}
	mu.RLock()
	defer mu.RUnlock()
	l, err := s.load(key)
	if err != nil {
		return nil, fmt.Errorf("read log %s: %w", key, err)
	}
	r, err := s.reader(l, max(offset, 0))
	if err != nil {
		return nil, fmt.Errorf("read log %s: %w", key, err)
	}
	return r, nil
}

// reader opens every file at once, a few dozen at most: one that is evicted while the
// reader is at work stays readable to it.
func (s *Store) reader(l log, offset int64) (*Reader, error) {
	r := &Reader{end: l.size}
	var parts []io.Reader
	for _, seg := range l.segs {
		start := seg.index * s.opt.SegmentBytes
		stop := start + seg.size
		if stop <= offset {
			continue
		}
		if seg.index == s.firstOfTail(l) {
			if left := start - max(offset, s.opt.HeadSegments*s.opt.SegmentBytes); left > 0 {
				parts = append(parts, strings.NewReader(LeftOut(left)))
			}
		}
		f, err := s.root.Open(path.Join(l.key, segmentName(seg.index)))
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		r.files = append(r.files, f)
		from := max(offset, start)
		parts = append(parts, io.NewSectionReader(f, from-start, stop-from))
	}
	r.Reader = io.MultiReader(parts...)
	return r, nil
}

// firstOfTail is the first segment behind the head, or -1.
func (s *Store) firstOfTail(l log) int64 {
	for _, seg := range l.segs {
		if seg.index >= s.opt.HeadSegments {
			return seg.index
		}
	}
	return -1
}

// LeftOut is the line that stands for bytes that were left out.
func LeftOut(left int64) string {
	return fmt.Sprintf("\n[phonebooth: %d bytes left out]\n", left)
}
