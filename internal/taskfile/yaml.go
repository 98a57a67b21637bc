package taskfile

import (
	"errors"
	"strconv"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxDepth is how deep the brackets and braces of a file may be nested.
const maxDepth = 32

// yaml reads a text that is one YAML document.
func (r *reader) yaml() any {
	tokens := lexer.Tokenize(r.text)
	if !r.plain(tokens) {
		return nil
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		r.unreadable(err)
		return nil
	}
	var body ast.Node
	for _, document := range file.Docs {
		switch {
		case document.Body == nil || document.Body.Type() == ast.CommentType:
		case body != nil:
			r.wrongAt(positionOf(document.Body), "there is a second document; a file of tasks is one")
			return nil
		default:
			body = document.Body
		}
	}
	if body == nil {
		r.wrongAt(place{1, 1}, "there are no tasks in it")
		return nil
	}
	return r.node(body, "")
}

// plain refuses what a file of tasks does not need, before the parser sees it: with anchors a short text can be a very long one,
// and the parser's stack grows with the depth of a text.
func (r *reader) plain(tokens token.Tokens) bool {
	depth := 0
	for _, t := range tokens {
		switch t.Type {
		case token.AnchorType, token.AliasType, token.TagType, token.MergeKeyType:
			r.wrongAt(place{t.Position.Line, t.Position.Column},
				"anchors, aliases and tags are not allowed; use defaults, or put the text in quotes if it is meant as it is")
			return false
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		}
		if depth > maxDepth {
			r.wrongAt(place{t.Position.Line, t.Position.Column}, "this is nested too deep")
			return false
		}
	}
	return true
}

// unreadable notes the parser's complaint: what it is where that helps, and where.
func (r *reader) unreadable(err error) {
	at, message := place{1, 1}, "this is not YAML"
	if y, ok := errors.AsType[yaml.Error](err); ok {
		if t := y.GetToken(); t != nil && t.Position != nil {
			at = place{t.Position.Line, t.Position.Column}
		}
		message += ": " + y.GetMessage()
	}
	r.wrongAt(at, "%s", message)
}

// node makes a value of a node, and notes the places of all that is in it.
func (r *reader) node(n ast.Node, pointer string) any {
	if _, known := r.places[pointer]; !known {
		r.places[pointer] = positionOf(n)
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		fields := map[string]any{}
		for _, f := range n.Values {
			r.field(fields, f, pointer)
		}
		return fields
	case *ast.MappingValueNode:
		fields := map[string]any{}
		r.field(fields, n, pointer)
		return fields
	case *ast.SequenceNode:
		items := []any{}
		for i, item := range n.Values {
			items = append(items, r.node(item, pointer+"/"+strconv.Itoa(i)))
		}
		return items
	}
	var value any
	if err := yaml.NodeToValue(n, &value); err != nil {
		r.wrongAt(positionOf(n), "this value cannot be read")
	}
	return value
}

func (r *reader) field(fields map[string]any, f *ast.MappingValueNode, pointer string) {
	key := f.Key.GetToken().Value
	inside := pointer + "/" + escaped(key)
	r.places[inside] = positionOf(f.Key)
	if _, twice := fields[key]; twice {
		r.wrongAt(positionOf(f.Key), "%s stands here for the second time", key)
	}
	fields[key] = r.node(f.Value, inside)
}

func positionOf(n ast.Node) place {
	if f, ok := n.(*ast.MappingNode); ok && len(f.Values) > 0 && !f.IsFlowStyle {
		n = f.Values[0].Key // a mapping's own token is its first colon
	} else if f, ok := n.(*ast.MappingValueNode); ok {
		n = f.Key
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return place{t.Position.Line, t.Position.Column}
	}
	return place{1, 1}
}
