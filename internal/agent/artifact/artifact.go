// Package artifact finds the files that a program left to be kept, and refuses what is none.
//
// A program can leave anything in its directory: links to what it should not show, pipes that never end, a million files. Only
// regular files below its directory count, reached without following a link, and within limits; for all else there is a reason
// for people. It does not send them.
//
//	files, refused := artifact.Collect(dir, rules)   // when nothing of the program runs any more
//	file, err := artifact.Open(dir, files[0])
//
// Everything may be called from any number of goroutines.
package artifact

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/phonebooth-dev/phonebooth/internal/blob"
)

// Dir is the directory of artifacts within a program's working directory.
const Dir = "artifacts"

// Limits that hold whatever the rules say.
const (
	MaxFileBytes = 1 << 30
	MaxBytes     = 4 << 30 // of all files, when the rules name no limit
	MaxFiles     = 1000
	MaxEntries   = 20_000 // that are looked at, directories and all

	// maxPath is how long the path of a directory that is looked at may be: no name of a file in a longer one could be kept, and
	// each look at one costs as much as it is deep.
	maxPath = len(Dir) + 1 + blob.MaxNameBytes
)

// Rules say what is kept.
type Rules struct {
	Prefix string   // goes before each name, with a slash, when it is not empty
	Keep   []string // patterns of path.Match for files beside those in Dir, by their path in the working directory
	Except []string // paths that Keep does not match
	Bytes  int64    // of all files; 0: MaxBytes

	Hide func(name string) string // makes the name that readers see; nil: it stays
}

// File is one file to keep.
type File struct {
	Name  string `json:"name"` // for those who read it: slashes, no "." or ".."
	Path  string `json:"path"` // in the working directory
	Bytes int64  `json:"bytes"`
}

// Collect lists what is to be kept of a working directory, by name, and says of everything else that looks like it should be
// why it is not.
func Collect(dir string, rules Rules) (files []File, refused []string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, []string{"the working directory is not there any more"}
	}
	defer root.Close()
	c := &collection{rules: rules, root: root, names: map[string]bool{}}
	if c.rules.Bytes <= 0 {
		c.rules.Bytes = MaxBytes
	}
	switch info, err := root.Lstat(Dir); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil || !info.IsDir():
		c.refuse(Dir, "it is no directory any more")
	default:
		c.walk(Dir, func(name string) (string, bool) { return name[len(Dir)+1:], true })
	}
	if len(rules.Keep) > 0 {
		c.walk(".", func(name string) (string, bool) {
			return name, !slices.Contains(rules.Except, name) && matches(rules.Keep, name)
		})
	}
	if c.more > 0 {
		c.refused = append(c.refused, fmt.Sprintf("and %d more files are not kept", c.more))
	}
	return c.files, c.refused
}

// matches reports whether name, or a directory that it is in, is what one of patterns stands for.
func matches(patterns []string, name string) bool {
	for ; name != "."; name = path.Dir(name) {
		if slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(path.Clean(p), name); return ok }) {
			return true
		}
	}
	return false
}

// collection is what was found so far.
type collection struct {
	rules   Rules
	root    *os.Root
	files   []File
	names   map[string]bool
	bytes   int64
	entries int
	deep    bool // a directory was not looked at, because its path is too long
	refused []string
	more    int // refused beyond those that are named
}

const maxRefused = 20

func (c *collection) refuse(name, why string) {
	if len(c.refused) == maxRefused {
		c.more++
		return
	}
	c.refused = append(c.refused, fmt.Sprintf("%.200q is not kept: %s", name, why))
}

// walk takes in what is below a directory, in order of names, without following a link. named says what a file is called, and
// whether it is kept at all.
func (c *collection) walk(dir string, named func(name string) (string, bool)) {
	for _, entry := range c.list(dir) {
		name := path.Join(dir, entry.Name())
		if entry.IsDir() {
			switch {
			case dir == "." && name == Dir:
			case len(name) > maxPath:
				c.deep = true
				if as, kept := named(name); kept {
					c.refuse(as, fmt.Sprintf("its path is longer than %d bytes", blob.MaxNameBytes))
				}
			default:
				c.walk(name, named)
			}
			continue
		}
		if as, kept := named(name); kept {
			c.take(name, as)
		}
	}
}

// list reads a directory piece by piece, since it may be larger than memory.
func (c *collection) list(dir string) []fs.DirEntry {
	file, err := c.root.OpenFile(dir, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		c.refuse(dir, "it cannot be opened")
		return nil
	}
	defer file.Close()
	var all []fs.DirEntry
	for {
		some, err := file.ReadDir(256)
		all = append(all, some...)
		c.entries += len(some)
		if c.entries > MaxEntries {
			c.refuse(dir, fmt.Sprintf("there are more than %d files and directories", MaxEntries))
			return nil
		}
		if err != nil || len(some) == 0 {
			slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
			return all
		}
	}
}

func (c *collection) take(at, as string) {
	name := path.Join(c.rules.Prefix, as)
	if c.rules.Hide != nil {
		name = c.rules.Hide(name)
	}
	info, err := c.root.Lstat(at)
	switch {
	case err != nil:
		c.refuse(as, "it cannot be looked at")
	case info.Mode()&fs.ModeSymlink != 0:
		c.refuse(as, "it is a symbolic link")
	case !info.Mode().IsRegular():
		c.refuse(as, "it is no regular file")
	case !blob.ValidName(name):
		c.refuse(as, fmt.Sprintf("a name has at most %d bytes of UTF-8 without control characters", blob.MaxNameBytes))
	case c.names[name]:
		c.refuse(as, "another file has this name")
	case info.Size() > MaxFileBytes:
		c.refuse(as, fmt.Sprintf("a file has at most %s", Size(MaxFileBytes)))
	case len(c.files) == MaxFiles:
		c.refuse(as, fmt.Sprintf("%d files are the most", MaxFiles))
	case c.bytes+info.Size() > c.rules.Bytes:
		c.refuse(as, fmt.Sprintf("all files together have at most %s", Size(c.rules.Bytes)))
	default:
		c.names[name] = true
		c.bytes += info.Size()
		c.files = append(c.files, File{Name: name, Path: at, Bytes: info.Size()})
	}
}

// Open opens a file that Collect listed, if it is still that.
func Open(dir string, f File) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the working directory: %w", err)
	}
	defer root.Close()
	if info, err := root.Lstat(f.Path); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(errors.New("it is no regular file any more"), err)
	}
	file, err := root.OpenFile(f.Path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() != f.Bytes {
		return nil, errors.Join(errors.New("it has changed"), err, file.Close())
	}
	return file, nil
}

// Measure is how large the files below Dir are, as far as that can be seen while a program writes them. crowded says that there
// are more, or deeper ones, than can be looked at.
func Measure(dir string) (bytes int64, crowded bool) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, false
	}
	defer root.Close()
	if info, err := root.Lstat(Dir); err != nil || !info.IsDir() {
		return 0, false
	}
	c := &collection{root: root}
	c.walk(Dir, func(name string) (string, bool) {
		if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return "", false
	})
	return bytes, c.deep || c.entries > MaxEntries
}

// Size is n for people.
func Size(n int64) string {
	switch {
	case n >= 1<<30 && n%(1<<30) == 0:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// Remove removes a file that Collect listed: it was sent.
func Remove(dir string, f File) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the working directory: %w", err)
	}
	defer root.Close()
	return root.Remove(f.Path)
}

// Sent reports whether a file that Collect listed was removed since.
func Sent(dir string, f File) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer root.Close()
	_, err = root.Lstat(f.Path)
	return errors.Is(err, fs.ErrNotExist)
}
