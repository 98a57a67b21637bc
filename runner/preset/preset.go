// Package preset makes runners of data: YAML files of the format preset/v1, those that ship in this package and those of a host.
//
//	version: preset/v1
//	name: greet
//	argv: [my-agent, "--serial={serial}", --, "{goal}"]
//
// [Shipped] lists what ships, [Load] reads a host's own files, [Parse] reads one text, and [Runner] is the same as a part of a
// configuration file. Each is a [runner.Registration]: it starts nothing, and what it needs on the host is looked for by whoever
// offers it. docs/presets.md describes the format; [Schema] is its JSON Schema for editors, which accepts whatever Parse accepts
// but knows less of what is wrong: it cannot see that a placeholder stands for an input that there is not.
//
// All functions may be called from any number of goroutines.
package preset

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/phonebooth-dev/phonebooth/runner"
)

//go:embed shipped/*.yaml
var shipped embed.FS

//go:embed preset.schema.json
var schema string

// Schema is the JSON Schema of the format.
func Schema() string { return schema }

// Shipped lists the presets that ship, by name.
func Shipped() ([]runner.Registration, error) {
	names, err := fs.Glob(shipped, "shipped/*.yaml")
	if err != nil {
		return nil, err
	}
	var all []runner.Registration
	for _, name := range names {
		text, err := shipped.ReadFile(name)
		if err != nil {
			return nil, err
		}
		r, err := Parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("read the preset %s: %w", name, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// Loaded is one file of a host: a runner, or why there is none.
type Loaded struct {
	File   string
	Runner runner.Registration
	Err    error // [Mistakes], or why the file could not be read
}

// Load reads files, and of directories those in them whose names end in .yaml or .yml, in the order of their names. A file that is
// wrong costs itself alone. Of two with one name, the first one has it.
func Load(paths []string) []Loaded {
	var all []Loaded
	holders := map[string]string{}
	for _, path := range paths {
		for _, file := range filesAt(path) {
			l := load(file)
			if holder := holders[l.Runner.Name]; l.Err == nil && holder != "" {
				l.Err = fmt.Errorf("the name %s is taken by %s", l.Runner.Name, holder)
			} else if l.Err == nil {
				holders[l.Runner.Name] = file
			}
			all = append(all, l)
		}
	}
	return all
}

// filesAt is what path stands for. Of what cannot be looked at, it is path itself, so that reading it says why.
func filesAt(path string) []string {
	entries, err := os.ReadDir(path)
	if err != nil {
		return []string{path}
	}
	var files []string
	for _, entry := range entries {
		if kind := filepath.Ext(entry.Name()); (kind == ".yaml" || kind == ".yml") && !strings.HasPrefix(entry.Name(), ".") {
			files = append(files, filepath.Join(path, entry.Name()))
		}
	}
	slices.SortFunc(files, cmp.Compare[string])
	return files
}

func load(file string) Loaded {
	info, err := os.Stat(file)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no file", file)
	}
	if err != nil {
		return Loaded{File: file, Err: err}
	}
	if info.Size() > MaxBytes {
		return Loaded{File: file, Err: Mistakes{{Line: 1, Column: 1, Message: fmt.Sprintf("a preset is not longer than %d bytes", MaxBytes)}}}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return Loaded{File: file, Err: err}
	}
	r, err := Parse(string(text))
	return Loaded{File: file, Runner: r, Err: err}
}
