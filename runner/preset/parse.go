package preset

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/phonebooth-dev/phonebooth/runner"
)

// Version is the one version of the format.
const Version = "preset/v1"

// MaxBytes is how long a preset may be.
const MaxBytes = 256 << 10

// Parse reads a preset. The error is [Mistakes].
func Parse(source string) (runner.Registration, error) {
	body, wrong := parse(source)
	if wrong != nil {
		return runner.Registration{}, Mistakes{wrong.Mistake}
	}
	p := newDraft()
	version := ""
	table := p.table()
	table["version"] = p.one(&version, "version", Version)
	registration := p.read(body, "the preset", table, "version", "name", "argv")
	if said := p.said(); said != nil {
		return runner.Registration{}, said
	}
	return registration, nil
}

// Runner is a preset in a configuration file: all fields but the version.
type Runner struct{ runner.Registration }

// UnmarshalYAML reads the fields. The error says where its first mistake is.
func (r *Runner) UnmarshalYAML(node ast.Node) error {
	p := newDraft()
	r.Registration = p.read(node, "a runner", p.table(), "name", "argv")
	if len(p.mistakes) > 0 {
		return p.mistakes[0] // as they were found: what is there before what is missing
	}
	return nil
}

// parse is the one document of a text.
func parse(source string) (ast.Node, *inFile) {
	switch broken := strings.IndexFunc(source, isBroken); {
	case len(source) > MaxBytes:
		return nil, mistakeAt(nil, "a preset is not longer than %d bytes", MaxBytes)
	case !utf8.ValidString(source):
		return nil, mistakeIn(placed(source, broken), "the text is not valid UTF-8")
	}
	file, err := parser.ParseBytes([]byte(source), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, unreadable(err)
	}
	var documents []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.CommentType {
			documents = append(documents, doc.Body)
		}
	}
	switch len(documents) {
	case 0:
		return nil, mistakeAt(nil, "the preset is empty; it needs version, name and argv")
	case 1:
		return documents[0], nil
	}
	return nil, mistakeAt(documents[1], "there is a second document; a preset is one")
}

// isBroken is for strings.IndexFunc: it finds the first byte that is no UTF-8.
func isBroken(r rune) bool { return r == utf8.RuneError }

// unreadable turns the parser's error into ours: its place, without the text around it.
func unreadable(err error) *inFile {
	const complaint = "this is not YAML"
	var positioned interface {
		error
		GetToken() *token.Token
	}
	if errors.As(err, &positioned) {
		return mistakeIn(positioned.GetToken(), complaint)
	}
	return mistakeAt(nil, complaint)
}

func mistakeIn(at *token.Token, format string, args ...any) *inFile {
	m := mistakeAt(nil, format, args...)
	if at != nil && at.Position != nil {
		m.token, m.Line, m.Column = at, at.Position.Line, at.Position.Column
	}
	return m
}

// read reads the fields of node by table and makes a runner of what they say.
func (p *draft) read(node ast.Node, what string, table map[string]func(ast.Node), required ...string) runner.Registration {
	p.fields(node, what, table, required...)
	p.check(node)
	if p.program.Service != nil {
		self, err := os.Executable()
		if err != nil {
			p.wrong(node, "the service cannot be run: the path of this program is not known")
		}
		p.program.Service.Self = self
	}
	p.registration.Runner = p.program
	return p.registration
}

// check looks at what no field alone can tell.
func (p *draft) check(node ast.Node) {
	for i, at := range p.arguments {
		if err := p.program.CheckArg(i); err != nil {
			p.wrong(at, "%v", err)
		}
	}
	for _, text := range p.templates {
		err := p.program.CheckText(text.value)
		if err == nil && text.fixed && strings.Contains(text.value, "{") {
			err = fmt.Errorf("the program cannot come from the task")
		}
		if err == nil && text.goalless && strings.Contains(text.value, "{goal}") {
			err = fmt.Errorf("{goal} is for argv and env; here it cannot stand")
		}
		if err != nil {
			p.wrong(text.node, "%v", err)
		}
	}
	if p.registration.Verified != "" && p.registration.Follows != "" {
		p.wrong(node, "verified and follows exclude each other: either it was tried or it was not")
	}
}
