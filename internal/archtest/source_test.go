package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/phonebooth-dev/phonebooth"

// source is one Go file, whatever system it is built for.
type source struct {
	path string // from the root of the module, with slashes
	pkg  string // directory of the package, "." for the root
	test bool   // in a file that only tests see
	file *ast.File
	fset *token.FileSet
}

// imports are the paths that the file imports; those in the module begin at its root.
func (s source) imports() []string {
	var paths []string
	for _, spec := range s.file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has taken it
		}
		paths = append(paths, path)
	}
	return paths
}

// inModule returns the package's directory if the import path is one of ours.
func inModule(path string) (string, bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

func (s source) lines(n ast.Node) int {
	return s.fset.Position(n.End()).Line - s.fset.Position(n.Pos()).Line + 1
}

func (s source) generated() bool { return ast.IsGenerated(s.file) }

// plant makes a source out of text, for the tests of the checks.
func plant(t *testing.T, path, text string) source {
	t.Helper()
	s, err := parse(path, text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parse(path string, text any) (source, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, text, parser.ParseComments)
	return source{
		path: path,
		pkg:  filepath.ToSlash(filepath.Dir(path)),
		test: strings.HasSuffix(path, "_test.go"),
		file: file,
		fset: fset,
	}, err
}

// house returns every Go file of the module.
func house(t *testing.T) []source {
	t.Helper()
	sources, err := readHouse()
	if err != nil {
		t.Fatalf("read the module: %v", err)
	}
	if len(sources) < 10 {
		t.Fatalf("only %d Go files were found: this is not the whole module", len(sources))
	}
	return sources
}

var readHouse = sync.OnceValues(func() ([]source, error) {
	const root = "../.."
	var sources []source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != root && foreign(path, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		s, err := parse(filepath.ToSlash(rel), text)
		sources = append(sources, s)
		return err
	})
	return sources, err
})

// foreign tells whether a directory is none of the module's: what the go command skips.
func foreign(path, name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" {
		return true
	}
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil
}

// report fails the test with each offence.
func report(t *testing.T, offences []string) {
	t.Helper()
	slices.Sort(offences)
	for _, o := range slices.Compact(offences) {
		t.Error(o)
	}
}

// expect checks that a planted offence is found, and nothing else.
func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	ok := len(got) == len(want)
	for i := range min(len(got), len(want)) {
		ok = ok && strings.Contains(got[i], want[i])
	}
	if !ok {
		t.Errorf("offences %q, want %q", got, want)
	}
}
