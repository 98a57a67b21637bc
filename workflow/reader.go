package workflow

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/phonebooth-dev/phonebooth"
)

// maxProblems is how many are kept: more help nobody.
const maxProblems = 100

// reader reads one source and keeps what is wrong with it.
type reader struct {
	source   string
	problems []problem
	texts    []placed // whose references are looked at in the end, when everything that they may name is known
}

type problem struct {
	at    token.Position // zero: nowhere
	after bool           // the others come first: a field that is missing may be there under a wrong name
	err   *phonebooth.Error
}

// placed is a text and where it stands.
type placed struct {
	text Text
	node ast.Node
	step int  // of which it is a part, counted from 0; -1: of the definition's own env
	own  bool // it may refer to the step's own env
}

// found is all that is wrong, in the order of the text.
func (r *reader) found() []*phonebooth.Error {
	slices.SortStableFunc(r.problems, func(a, b problem) int {
		switch {
		case a.after && !b.after:
			return 1
		case b.after && !a.after:
			return -1
		}
		return cmp.Or(cmp.Compare(a.at.Line, b.at.Line), cmp.Compare(a.at.Column, b.at.Column))
	})
	var all []*phonebooth.Error
	for _, p := range r.problems {
		all = append(all, p.err)
	}
	return all
}

// wrong notes a problem at a node.
func (r *reader) wrong(node ast.Node, format string, args ...any) {
	r.wrongAt(positionOf(node), format, args...)
}

func (r *reader) wrongAt(at *token.Position, format string, args ...any) {
	r.note(problemAt(at, format, args...))
}

func (r *reader) note(p problem) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, p)
	}
}

func problemAt(at *token.Position, format string, args ...any) problem {
	message := fmt.Sprintf(format, args...)
	if at == nil {
		return problem{err: phonebooth.Errorf(phonebooth.Invalid, "invalid", "%s", message).With("pointer", "/source")}
	}
	err := phonebooth.Errorf(phonebooth.Invalid, "invalid", "line %d, column %d: %s", at.Line, at.Column, message).
		With("pointer", "/source").With("line", strconv.Itoa(at.Line)).With("column", strconv.Itoa(at.Column))
	return problem{at: *at, err: err}
}

// positionOf is where a node begins, nil when nobody knows.
func positionOf(node ast.Node) *token.Position {
	switch n := node.(type) {
	case nil:
		return nil
	case *ast.MappingNode:
		if len(n.Values) > 0 && !n.IsFlowStyle {
			return positionOf(n.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return positionOf(n.Key)
	}
	if t := node.GetToken(); t != nil {
		return t.Position
	}
	return nil
}

// field is one key that a mapping may have.
type field struct {
	name     string
	required bool
	read     func(ast.Node)
}

// fields reads a mapping that has the given keys and no others, and reports which of them are there.
func (r *reader) fields(node ast.Node, what string, known ...field) map[string]bool {
	var all []string
	for _, f := range known {
		all = append(all, f.name)
	}
	list := strings.Join(all[:len(all)-1], ", ") + " and " + all[len(all)-1]
	pairs, ok := pairsOf(node)
	if !ok {
		r.wrong(node, "%s must be fields: %s", what, list)
		return nil
	}
	seen := map[string]bool{}
	for _, pair := range pairs {
		name, ok := r.key(pair, seen)
		if !ok {
			continue
		}
		at := slices.Index(all, name)
		if at < 0 {
			r.wrong(pair.Key, "unknown field; there are %s", list)
			continue
		}
		known[at].read(pair.Value)
	}
	for _, f := range known {
		if f.required && !seen[f.name] {
			missing := problemAt(positionOf(node), "%s is missing", f.name)
			missing.after = true
			r.note(missing)
		}
	}
	return seen
}

// named reads a mapping whose keys are names that the definition gives.
func (r *reader) named(node ast.Node, what string, read func(name string, key, value ast.Node)) {
	pairs, ok := pairsOf(node)
	if !ok {
		r.wrong(node, "%s must be fields: names with their values", what)
		return
	}
	if len(pairs) > MaxFields {
		r.wrong(pairs[MaxFields].Key, "%s has more than %d fields", what, MaxFields)
		return
	}
	seen := map[string]bool{}
	for _, pair := range pairs {
		name, ok := r.key(pair, seen)
		switch {
		case !ok:
		case !plainName.MatchString(name):
			r.wrong(pair.Key, "a name in %s must be 1 to 63 letters, digits, underscores and hyphens, and begin with no digit or hyphen", what)
		default:
			read(name, pair.Key, pair.Value)
		}
	}
}

// key is the name of a field that was not seen before.
func (r *reader) key(pair *ast.MappingValueNode, seen map[string]bool) (string, bool) {
	name, ok := r.text(pair.Key, "a field's name")
	if ok && seen[name] {
		r.wrong(pair.Key, "this field is there twice")
		return "", false
	}
	seen[name] = true
	return name, ok
}

// pairsOf are the fields of a mapping, however it is written.
func pairsOf(node ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := node.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

// text is a string, however it is written. Numbers are none.
func (r *reader) text(node ast.Node, what string) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	}
	r.wrong(node, "%s must be a string; put it in quotes if it looks like something else", what)
	return "", false
}

// scalar is a string, or a number, true or false as it is written.
func (r *reader) scalar(node ast.Node, what string) (value string, ok bool) {
	switch n := node.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	case *ast.StringNode, *ast.LiteralNode:
		if value, _ = r.text(n, what); unfit(value) != "" {
			r.wrong(node, "%s %s", what, unfit(value))
			return "", false
		}
		return value, true
	}
	r.wrong(node, "%s must be a string; write '' for an empty one", what)
	return "", false
}

// filled is a scalar whose references are looked at later.
func (r *reader) filled(node ast.Node, what string, step int, own bool) Text {
	value, ok := r.scalar(node, what)
	if ok && strings.Contains(value, opening) {
		r.texts = append(r.texts, placed{Text(value), node, step, own})
	}
	return Text(value)
}

// literal refuses a reference in a value where none may stand.
func (r *reader) literal(node ast.Node, value, advice string) {
	if strings.Contains(value, opening) {
		r.wrongAt(r.placeOfReference(node, 0), "no values are put in here; %s", advice)
	}
}

// placeOfReference is where the text of a node holds its nth ${{, counted from 0.
func (r *reader) placeOfReference(node ast.Node, nth int) *token.Position {
	at := positionOf(node)
	if at == nil {
		return nil
	}
	start := 0
	for range at.Line - 1 {
		next := strings.IndexByte(r.source[start:], '\n')
		if next < 0 {
			return at
		}
		start += next + 1
	}
	for range nth + 1 {
		next := strings.Index(r.source[start:], opening)
		if next < 0 {
			return at
		}
		start += next + len(opening)
	}
	return placeOf(r.source, start-len(opening))
}
