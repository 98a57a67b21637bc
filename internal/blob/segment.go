package blob

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A log is a directory of segments. Segment i holds the runner's bytes from
// i*SegmentBytes on; the names and sizes of the files are all that is known of a log,
// so there is no second record that could disagree with them. '@' keeps the names of
// segments apart from parts of keys.
const segmentMark = "@"

func segmentName(i int64) string { return fmt.Sprintf("%s%012d", segmentMark, i) }

type segment struct{ index, size int64 }

// log is what the directory of one key holds.
type log struct {
	key  string
	segs []segment // what is kept: the head, perhaps a hole, the tail; ascending
	torn []segment // files behind the end of the log, left by a crash of the machine
	size int64     // where the log ends: one past the runner's last byte
}

// load reads the state of a log from its directory.
func (s *Store) load(key string) (log, error) {
	l := log{key: key}
	found, err := s.list(key)
	if err != nil {
		return l, err
	}
	for i, seg := range found {
		if !s.continues(l.segs, seg) {
			l.torn = found[i:]
			break
		}
		seg.size = min(seg.size, s.opt.SegmentBytes)
		l.segs = append(l.segs, seg)
		l.size = seg.index*s.opt.SegmentBytes + seg.size
	}
	return l, nil
}

// continues tells whether next is the segment that comes after kept. The one hole that
// a log may have is behind the head.
func (s *Store) continues(kept []segment, next segment) bool {
	if len(kept) == 0 {
		return next.index == 0
	}
	last := kept[len(kept)-1]
	if last.size < s.opt.SegmentBytes {
		return false
	}
	return next.index == last.index+1 || last.index+1 == s.opt.HeadSegments
}

func (s *Store) list(key string) ([]segment, error) {
	entries, err := fs.ReadDir(s.root.FS(), key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []segment
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), segmentMark)
		if !ok {
			continue // the directory of a longer key
		}
		i, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("unknown file %s", e.Name())
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		found = append(found, segment{index: i, size: info.Size()})
	}
	slices.SortFunc(found, func(a, b segment) int { return cmp.Compare(a.index, b.index) })
	return found, nil
}

// write adds p to the end of l and keeps l.size true, also when it ends with an error.
func (s *Store) write(l *log, p []byte) error {
	if err := s.root.MkdirAll(l.key, 0o700); err != nil {
		return err
	}
	for _, seg := range l.torn {
		if err := s.root.Remove(path.Join(l.key, segmentName(seg.index))); err != nil {
			return err
		}
	}
	l.torn = nil
	for len(p) > 0 {
		room := s.opt.SegmentBytes - l.size%s.opt.SegmentBytes
		chunk := p[:min(room, int64(len(p)))]
		n, err := s.writeSegment(l.key, l.size, chunk)
		l.size += int64(n)
		if err != nil {
			return err
		}
		p = p[n:]
		if err := s.evict(l.key, l.size); err != nil {
			return err
		}
	}
	return nil
}

// writeSegment writes chunk, which fits into the segment that byte number at is in. A
// segment that it fills is on the disk when it returns: only the last one of a log can
// be torn.
func (s *Store) writeSegment(key string, at int64, chunk []byte) (int, error) {
	name := path.Join(key, segmentName(at/s.opt.SegmentBytes))
	f, err := s.root.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n, err := f.WriteAt(chunk, at%s.opt.SegmentBytes)
	if err != nil {
		return n, err
	}
	if (at+int64(n))%s.opt.SegmentBytes == 0 {
		err = f.Sync()
	}
	return n, err
}

// evict deletes what is neither head nor tail any more of a log that ends at size.
func (s *Store) evict(key string, size int64) error {
	if size%s.opt.SegmentBytes != 0 {
		return nil // the end is where it was, as far as whole segments go
	}
	segs, err := s.list(key)
	if err != nil {
		return err
	}
	tail := size/s.opt.SegmentBytes - s.opt.TailSegments
	for _, seg := range segs {
		if seg.index >= s.opt.HeadSegments && seg.index < tail {
			if err := s.root.Remove(path.Join(key, segmentName(seg.index))); err != nil {
				return err
			}
		}
	}
	return nil
}
