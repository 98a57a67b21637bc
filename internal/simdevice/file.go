package simdevice

import (
	"bytes"
	"io/fs"
	"path"
	"strings"
)

// file is one file of the phone. Its content is never changed, only replaced.
type file struct {
	content  []byte
	mode     uint32
	modified uint32 // Unix time
}

// File is the content of a file of the phone; ok is false when there is none.
func (p *Phone) File(name string) (content []byte, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, ok := p.files[path.Clean(name)]
	return bytes.Clone(f.content), ok
}

// SetFile puts a file on the phone. Directories are there as soon as something is in them.
func (p *Phone) SetFile(name string, content []byte) {
	p.store(name, file{content: bytes.Clone(content), mode: modeFile | 0o644})
}

func (p *Phone) store(name string, f file) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files[path.Clean(name)] = f
}

// remove reports whether there was such a file.
func (p *Phone) remove(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.files[path.Clean(name)]
	delete(p.files, path.Clean(name))
	return ok
}

// The kinds of files in a mode, as they go over the wire.
const (
	modeDirectory = 0o040000
	modeFile      = 0o100000
)

// look finds a file or a directory.
func (p *Phone) look(name string) (f file, err error) {
	name = path.Clean(name)
	p.mu.Lock()
	defer p.mu.Unlock()
	if f, ok := p.files[name]; ok {
		return f, nil
	}
	for _, there := range []string{"/sdcard", "/data/local/tmp"} {
		if under(there, name) {
			return file{mode: modeDirectory | 0o771}, nil
		}
	}
	for there := range p.files {
		if under(there, name) {
			return file{mode: modeDirectory | 0o771}, nil
		}
	}
	return file{}, fs.ErrNotExist
}

// under reports whether name is dir or in it.
func under(name, dir string) bool {
	return name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}

// entry is a file in a directory.
type entry struct {
	name string
	file
}

// list is what lies directly in a directory, in no order.
func (p *Phone) list(dir string) []entry {
	dir = path.Clean(dir)
	p.mu.Lock()
	defer p.mu.Unlock()
	var entries []entry
	for name, f := range p.files {
		if path.Dir(name) == dir {
			entries = append(entries, entry{path.Base(name), f})
		}
	}
	return entries
}
