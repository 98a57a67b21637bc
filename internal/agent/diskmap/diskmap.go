// Package diskmap keeps one JSON document per key in a directory, and survives being
// killed at any point.
//
// A document that Put accepted is on the disk, and so is the directory entry that
// leads to it, before Put returns. It is replaced as a whole: after a crash a reader
// finds the old document or the new one, never a mixture. A file that can nevertheless
// not be read (a damaged disk, an editor) is moved to the directory "quarantine" beside
// the documents and told of by Quarantined; it never keeps the others from being read.
//
// It is not a database: there are no transactions over two keys, every document is
// held in memory, and two Maps must not be open on one directory at once. Whoever owns
// the directory locks it (the agent locks its data directory).
//
//	leases, err := diskmap.Open(dir, func(e Entry) string { return e.LeaseID })
//	err = leases.Put(entry)
//	for _, entry := range leases.All() { ... }
//
// Keys are file names, and may be secrets: no error names one.
//
// All methods may be called from any number of goroutines. Writes are done one after
// the other, and a reader waits for the write that is going on.
package diskmap

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

var (
	// ErrFull means that the disk, or the user's share of it, has no room. Nothing was
	// changed, and the same call may work later.
	ErrFull = errors.New("no room on the disk")

	// ErrKey means that a key cannot be a file's name on every system, or was changed.
	ErrKey = errors.New("a key must be 1 to 200 letters, digits, '-' or '_', and stay as it is")

	// ErrAbsent means that there is no document under the key.
	ErrAbsent = errors.New("no such document")
)

const (
	ext        = ".json"
	quarantine = "quarantine"
)

var keyPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,200}$`)

// Bad is a file that could not be read as a document.
type Bad struct {
	Key    string // what its name says
	Path   string // where it lies now; it holds the key
	Reason string // does not hold the key
}

// Map is the documents of one directory.
type Map[T any] struct {
	dir string
	key func(T) string

	mu   sync.Mutex
	docs map[string]T
	bad  []Bad
}

// Open reads the documents in dir, which it makes (mode 0700) if it is not there. It
// removes what an interrupted Put left. key tells the key of a document from its
// content; a document that lies under another name is a bad one.
func Open[T any](dir string, key func(T) string) (*Map[T], error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make %s: %w", dir, full(err))
	}
	if err := os.Chmod(dir, 0o700); err != nil { // it may have been made by somebody more generous
		return nil, fmt.Errorf("close %s to others: %w", dir, err)
	}
	m := &Map[T]{dir: dir, key: key, docs: make(map[string]T)}
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	for _, entry := range names {
		if err := m.admit(entry); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// admit takes in one name found in the directory. An error means that the directory
// is of no use at all; a file that cannot be understood is no error.
func (m *Map[T]) admit(entry fs.DirEntry) error {
	path := filepath.Join(m.dir, entry.Name())
	if isPartial(entry.Name()) {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("remove what an interrupted write left: %w", err)
		}
		return nil
	}
	key, isDoc := strings.CutSuffix(entry.Name(), ext)
	if !isDoc || entry.IsDir() {
		return nil
	}
	doc, err := m.read(key)
	if err == nil {
		m.docs[key] = doc
		return nil
	}
	aside, moveErr := setAside(path)
	if moveErr != nil {
		// It stays where it is and is met again at the next start.
		err = fmt.Errorf("%w; and %w", err, moveErr)
	}
	m.bad = append(m.bad, Bad{Key: key, Path: aside, Reason: err.Error()})
	return nil
}

func (m *Map[T]) read(key string) (doc T, err error) {
	if !keyPattern.MatchString(key) {
		return doc, ErrKey
	}
	data, err := os.ReadFile(m.path(key))
	if err != nil {
		return doc, fmt.Errorf("read it: %w", nameless(err))
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return doc, fmt.Errorf("not a whole document: %w", err)
	}
	if m.key(doc) != key {
		return doc, errors.New("the document is not the one that its name says")
	}
	return doc, nil
}

// setAside moves a file to the quarantine, under a name that nothing has yet, and says
// where it lies afterwards.
func setAside(path string) (string, error) {
	dir := filepath.Join(filepath.Dir(path), quarantine)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return path, nameless(err)
	}
	for n := 1; ; n++ {
		target := filepath.Join(dir, fmt.Sprintf("%s.%d", filepath.Base(path), n))
		if _, err := os.Lstat(target); err == nil {
			continue
		}
		if err := os.Rename(path, target); err != nil {
			return path, nameless(err)
		}
		return target, nil
	}
}

// Put stores doc, in the place of the document with its key, and returns when it would
// survive a power cut. After an error the Map has the old document, or none; a restart
// may find the new one only if nothing but its name could not be made lasting.
func (m *Map[T]) Put(doc T) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.put(doc)
}

// Add is Put for a key that must be new. Otherwise it changes nothing and returns the
// document that is there, and false.
func (m *Map[T]) Add(doc T) (there T, added bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if old, found := m.docs[m.key(doc)]; found {
		return old, false, nil
	}
	err = m.put(doc)
	return doc, err == nil, err
}

// Update replaces the document under key by what change makes of it. change must not
// touch the key, and must not call the Map.
func (m *Map[T]) Update(key string, change func(*T)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	doc, found := m.docs[key]
	if !found {
		return ErrAbsent
	}
	change(&doc)
	if m.key(doc) != key {
		return ErrKey
	}
	return m.put(doc)
}

func (m *Map[T]) put(doc T) error {
	key := m.key(doc)
	if !keyPattern.MatchString(key) {
		return ErrKey
	}
	data, err := json.Marshal(doc)
	if err != nil {
		return fmt.Errorf("encode the document: %w", err)
	}
	if err := Replace(m.path(key), data); err != nil {
		return err
	}
	m.docs[key] = doc
	return nil
}

// Remove forgets the document under key, for good when it returns nil. Removing what
// is not there is no error.
func (m *Map[T]) Remove(key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !keyPattern.MatchString(key) {
		return ErrKey
	}
	if err := os.Remove(m.path(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the document: %w", nameless(err))
	}
	delete(m.docs, key)
	return syncDir(m.dir)
}

// Lookup returns the document under key. What it points to must not be changed.
func (m *Map[T]) Lookup(key string) (T, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	doc, found := m.docs[key]
	return doc, found
}

// All goes through the documents as they were at the call, by key.
func (m *Map[T]) All() iter.Seq2[string, T] {
	m.mu.Lock()
	docs := maps.Clone(m.docs)
	m.mu.Unlock()
	return func(yield func(string, T) bool) {
		for _, key := range slices.Sorted(maps.Keys(docs)) {
			if !yield(key, docs[key]) {
				return
			}
		}
	}
}

// Quarantined lists the files that Open could not read.
func (m *Map[T]) Quarantined() []Bad { return slices.Clone(m.bad) }

func (m *Map[T]) path(key string) string { return filepath.Join(m.dir, key+ext) }
