// Package blob keeps what attempts leave in a directory: logs of any length, in bounded
// space, and artifacts, which are whole files.
//
// A log is known by a key such as "task_x/1". Its bytes are counted by the offset at
// which the runner wrote them, so a chunk that arrives twice is stored once, and one
// that arrives too early is refused with a GapError that says where to go on:
//
//	s, err := blob.Open(dir, blob.Options{})
//	next, err := s.Append(ctx, "task_x/1", 0, []byte("hello\n"))
//	r, err := s.Read("task_x/1")
//
// Of a long log the beginning and the end are kept, and Read puts a line between them
// that tells how many bytes were left out.
//
// Artifacts have a key too, and below it any name:
//
//	err := s.PutArtifact(ctx, "task_x/1.artifacts", blob.Artifact{Name: "shot/a.png", Bytes: n, SHA256: sum}, body)
//	f, err := s.Artifact("task_x/1.artifacts", "shot/a.png")
//
// It is not an archive and knows nothing of tasks: who may write, and until when, is
// its caller's affair.
//
// # What is promised
//
//  1. Bytes that Append acknowledged survive the death of the process at any instant;
//     a torn chunk is found by its size, and counts as far as it came.
//  2. The death of the machine may cost the bytes at the end of a log that were not
//     yet in a full segment. The log is then shorter, the next Append is told so by
//     its GapError, and the host sends again what was lost.
//  3. An artifact is there whole and on the disk, or not at all, whatever dies.
//  4. Memory does not grow with the log: nothing of it is kept between two calls.
//  5. Everything may be called from any number of goroutines. Calls for one task wait
//     for each other, but not for the bytes of an artifact to arrive; a Reader or a File needs no lock and sees the log as it was when it was
//     opened.
//
// One process at a time may have a directory open (config.LockDir).
package blob

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
)

// Options are the limits of a Store. The zero value is production's.
type Options struct {
	SegmentBytes int64 // a log is cut into files of this size; 0 is 1 MiB
	HeadSegments int64 // so many are kept of the beginning; 0 is 8
	TailSegments int64 // and at least so many of the end; 0 is 8

	ArtifactBytes int64 // the most that one artifact may have; 0 is 1 GiB
	Artifacts     int64 // so many may have one key; 0 is 1000
	// Room says whether the disk has room for so many bytes more; without it artifacts are refused, so that logs and reports
	// still find some. nil: always.
	Room func(bytes int64) bool
}

func (o Options) withDefaults() Options {
	if o.SegmentBytes == 0 {
		o.SegmentBytes = 1 << 20
	}
	if o.HeadSegments == 0 {
		o.HeadSegments = 8
	}
	if o.TailSegments == 0 {
		o.TailSegments = 8
	}
	if o.ArtifactBytes == 0 {
		o.ArtifactBytes = 1 << 30
	}
	if o.Artifacts == 0 {
		o.Artifacts = 1000
	}
	if o.Room == nil {
		o.Room = func(int64) bool { return true }
	}
	return o
}

// GapError refuses bytes that would leave a hole: the log ends at Next.
type GapError struct{ Next int64 }

func (e *GapError) Error() string { return fmt.Sprintf("the log ends at byte %d", e.Next) }

// ErrBadKey refuses a key that is not parts of letters, digits, '.', '_' and '-',
// each starting with a letter or digit, joined by '/', 255 bytes in all.
var ErrBadKey = errors.New("bad key")

var keyPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$`)

// Store is a directory of logs and artifacts.
type Store struct {
	root *os.Root
	opt  Options
	seed maphash.Seed
	// Keys with the same first part share a lock, so that a task can be removed as
	// one; tasks share locks by chance, which costs a wait and nothing else.
	locks    [64]sync.RWMutex
	serial   atomic.Int64 // of uploads
	arriving atomic.Int64 // bytes of artifacts that are being stored
}

// Open makes dir if it is not there. Close the Store after its last use.
func Open(dir string, opt Options) (*Store, error) {
	opt = opt.withDefaults()
	if opt.SegmentBytes < 0 || opt.HeadSegments < 0 || opt.TailSegments < 0 || opt.ArtifactBytes < 0 || opt.Artifacts < 0 {
		return nil, fmt.Errorf("open log store: negative limit")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open log store: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open log store: %w", err)
	}
	// What the death of a process left half received is of no use to anybody.
	if err := root.RemoveAll(uploads); err != nil {
		return nil, errors.Join(fmt.Errorf("open log store: %w", err), root.Close())
	}
	return &Store{root: root, opt: opt, seed: maphash.MakeSeed()}, nil
}

// Close releases the directory. Readers that are open stay good.
func (s *Store) Close() error { return s.root.Close() }

func (s *Store) lock(key string) (*sync.RWMutex, error) {
	if len(key) > 255 || !keyPattern.MatchString(key) {
		return nil, ErrBadKey
	}
	first, _, _ := strings.Cut(key, "/")
	return &s.locks[maphash.String(s.seed, first)%uint64(len(s.locks))], nil
}

// Append stores p, whose first byte is the runner's byte number offset, and returns
// the number of the byte that is wanted next. Bytes that are already stored are passed
// over, whatever they are. If bytes before offset are missing, nothing is stored and
// the error is a *GapError.
//
// After any other error some of p may be stored: the same call again is right.
func (s *Store) Append(ctx context.Context, key string, offset int64, p []byte) (next int64, err error) {
	mu, err := s.lock(key)
	if err != nil {
		return 0, err
	}
	mu.Lock()
	defer mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := s.refuseExpired(key); err != nil {
		return 0, err
	}
	l, err := s.load(key)
	if err != nil {
		return 0, fmt.Errorf("append to log %s: %w", key, err)
	}
	switch {
	case offset < 0:
		return l.size, fmt.Errorf("append to log %s: negative offset %d", key, offset)
	case offset > l.size:
		return l.size, &GapError{Next: l.size}
	case int64(len(p)) <= l.size-offset:
		return l.size, nil
	}
	if err := s.write(&l, p[l.size-offset:]); err != nil {
		return l.size, fmt.Errorf("append to log %s: %w", key, err)
	}
	return l.size, nil
}

// Size is the number of bytes that the runner wrote and the store was given, kept or
// left out. It is 0 for a log that is not there.
func (s *Store) Size(key string) (int64, error) {
	mu, err := s.lock(key)
	if err != nil {
		return 0, err
	}
	mu.RLock()
	defer mu.RUnlock()
	l, err := s.load(key)
	if err != nil {
		return 0, fmt.Errorf("size of log %s: %w", key, err)
	}
	return l.size, nil
}

// Remove deletes the log and all whose keys begin with key and '/': the key of a task
// removes the logs of all its attempts. A log that is not there is no error.
func (s *Store) Remove(key string) error {
	mu, err := s.lock(key)
	if err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	if err := s.root.RemoveAll(key); err != nil {
		return fmt.Errorf("remove log %s: %w", key, err)
	}
	// The directories above it go with their last log. One that still holds another
	// log refuses, and so ends the walk.
	for i := strings.LastIndexByte(key, '/'); i > 0; i = strings.LastIndexByte(key[:i], '/') {
		if s.root.Remove(key[:i]) != nil {
			break
		}
	}
	return nil
}
