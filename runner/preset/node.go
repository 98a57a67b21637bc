package preset

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// reader reads nodes of a file and keeps what is wrong with them.
type reader struct {
	mistakes []*inFile
}

func (r *reader) wrong(node ast.Node, format string, args ...any) {
	r.mistakes = append(r.mistakes, mistakeAt(node, format, args...))
}

// said are the mistakes, in the order of the file.
func (r *reader) said() Mistakes {
	slices.SortStableFunc(r.mistakes, func(a, b *inFile) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	var all Mistakes
	for _, m := range r.mistakes {
		all = append(all, m.Mistake)
	}
	return all
}

// field is one name with its value.
type field struct {
	name       string
	key, value ast.Node
}

// pairs lists the fields of a mapping, however it is written, each name once. Names are those that there are, for people.
func (r *reader) pairs(node ast.Node, what, names string) (fields []field) {
	var values []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		r.wrong(node, "%s must be names with values; the names are %s", what, names)
		return nil
	}
	seen := map[string]bool{}
	for _, v := range values {
		name, ok := keyOf(v.Key)
		switch {
		case !ok:
			r.wrong(v.Key, "a name must be plain text")
		case seen[name]:
			r.wrong(v.Key, "this name is here twice")
		default:
			seen[name] = true
			fields = append(fields, field{name, v.Key, v.Value})
		}
	}
	return fields
}

// keyOf is a name as it is written: numbers too, but no anchors, aliases and merges.
func keyOf(key ast.Node) (string, bool) {
	switch k := key.(type) {
	case *ast.StringNode:
		return k.Value, true
	case *ast.IntegerNode:
		return k.GetToken().Value, true
	}
	return "", false
}

// fields has each field read by its entry of table. Fields that are not in it are mistakes, as are missing required ones.
func (r *reader) fields(node ast.Node, what string, table map[string]func(ast.Node), required ...string) {
	seen := map[string]bool{}
	for _, f := range r.pairs(node, what, listed(table)) {
		read, known := table[f.name]
		if !known {
			r.wrong(f.key, "unknown field of %s; there are %s", what, listed(table))
			continue
		}
		seen[f.name] = true
		read(f.value)
	}
	for _, name := range required {
		if !seen[name] {
			r.wrong(node, "%s is missing in %s", name, what)
		}
	}
}

func listed[V any](table map[string]V) string {
	return strings.Join(slices.Sorted(maps.Keys(table)), ", ")
}

// text reads a string, however it is written.
func (r *reader) text(node ast.Node, what string) (string, bool) {
	var value string
	switch n := node.(type) {
	case *ast.StringNode:
		value = n.Value
	case *ast.LiteralNode:
		value = n.Value.Value
	default:
		r.wrong(node, "%s must be text; put it in quotes if it looks like something else", what)
		return "", false
	}
	if strings.ContainsRune(value, 0) {
		r.wrong(node, "%s holds a NUL byte", what)
		return "", false
	}
	return value, true
}

// matching reads a string that pattern matches.
func (r *reader) matching(into *string, pattern *regexp.Regexp, what, want string) func(ast.Node) {
	return func(node ast.Node) {
		value, ok := r.text(node, what)
		if ok && !pattern.MatchString(value) {
			r.wrong(node, "%s must be %s", what, want)
			return
		}
		*into = value
	}
}

// one reads a string that is in a list.
func (r *reader) one(into *string, what string, of ...string) func(ast.Node) {
	return func(node ast.Node) {
		value, ok := r.text(node, what)
		if ok && !slices.Contains(of, value) {
			r.wrong(node, "%s must be one of %s", what, strings.Join(of, ", "))
			return
		}
		*into = value
	}
}

func (r *reader) truth(into *bool, what string) func(ast.Node) {
	return func(node ast.Node) {
		n, ok := node.(*ast.BoolNode)
		if !ok {
			r.wrong(node, "%s must be true or false", what)
			return
		}
		*into = n.Value
	}
}

var number = regexp.MustCompile(`^(0|[1-9][0-9]{0,11})$`)

// number reads a whole number.
func (r *reader) number(into *int, what string, from, to int) func(ast.Node) {
	return func(node ast.Node) {
		if n, ok := node.(*ast.IntegerNode); ok && number.MatchString(n.GetToken().Value) {
			value, err := strconv.Atoi(n.GetToken().Value)
			if err == nil && value >= from && value <= to {
				*into = value
				return
			}
		}
		r.wrong(node, "%s must be a whole number from %d to %d", what, from, to)
	}
}

var duration = regexp.MustCompile(`^[0-9]{1,6}(\.[0-9]{1,3})?(ms|s|m|h)$`)

// duration reads a time that is more than none and at most longest.
func (r *reader) duration(into *time.Duration, what string, longest time.Duration) func(ast.Node) {
	return func(node ast.Node) {
		value, ok := r.text(node, what)
		if !ok {
			return
		}
		d, err := time.ParseDuration(value)
		if !duration.MatchString(value) || err != nil || d <= 0 || d > longest {
			r.wrong(node, "%s must be a time such as 500ms, 30s, 10m or 2h, at most %s", what, short(longest))
			return
		}
		*into = d
	}
}

// short is a time without the units that are nothing.
func short(d time.Duration) string {
	text := d.String()
	for _, nothing := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, nothing) {
			text = text[:len(text)-2]
		}
	}
	return text
}

var (
	size  = regexp.MustCompile(`^([1-9][0-9]{0,5})(KiB|MiB|GiB)$`)
	units = map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
)

// size reads a number of bytes.
func (r *reader) size(into *int64, what string) func(ast.Node) {
	return func(node ast.Node) {
		value, ok := r.text(node, what)
		if !ok {
			return
		}
		m := size.FindStringSubmatch(value)
		if m == nil {
			r.wrong(node, "%s must be a size such as 512KiB, 20MiB or 4GiB", what)
			return
		}
		n, _ := strconv.ParseInt(m[1], 10, 64) // the pattern lets nothing else through
		*into = n * units[m[2]]
	}
}

// list lists the elements of a sequence of at least one.
func (r *reader) list(node ast.Node, what string) []ast.Node {
	n, ok := node.(*ast.SequenceNode)
	if !ok || len(n.Values) == 0 {
		r.wrong(node, "%s must be a list of one or more; leave it out for none", what)
		return nil
	}
	return n.Values
}

// texts reads a list of strings that pattern matches, each once.
func (r *reader) texts(into *[]string, pattern *regexp.Regexp, what, want string) func(ast.Node) {
	return func(node ast.Node) {
		for _, element := range r.list(node, what) {
			var value string
			before := len(r.mistakes)
			r.matching(&value, pattern, "an element of "+what, want)(element)
			switch {
			case len(r.mistakes) > before:
			case slices.Contains(*into, value):
				r.wrong(element, "this element of %s is here twice", what)
			default:
				*into = append(*into, value)
			}
		}
	}
}

// placed is where something is in a text, as the parser counts.
func placed(source string, at int) *token.Token {
	before := source[:max(at, 0)]
	line := strings.LastIndexByte(before, '\n') + 1
	return &token.Token{Position: &token.Position{Line: strings.Count(before, "\n") + 1, Column: len([]rune(before[line:])) + 1}}
}
