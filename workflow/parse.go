package workflow

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/phonebooth-dev/phonebooth"
)

// Parse reads a definition. The error is the first of what [Check] finds.
func Parse(source string) (Definition, error) {
	d, problems := Check(source)
	if len(problems) > 0 {
		return Definition{}, problems[0]
	}
	return d, nil
}

// Check reads a definition and goes on after a mistake as far as that makes sense. Each problem has the code invalid; its
// message begins with the place, and it carries line and column (from 1) as details. Nothing of the text is echoed but names:
// those of the grammar, and those that the definition gives to its inputs, variables and steps. When there are problems, the
// definition is not to be used.
func Check(source string) (Definition, []*phonebooth.Error) {
	r := &reader{source: source}
	body := r.document()
	if body == nil {
		return Definition{}, r.found()
	}
	d := r.definition(body)
	return d, r.found()
}

// document is the one document of the text; nil when it cannot be read.
func (r *reader) document() ast.Node {
	switch source := r.source; {
	case len(source) > MaxSourceBytes:
		r.wrongAt(nil, "the workflow is longer than %d bytes", MaxSourceBytes)
		return nil
	case !utf8.ValidString(source):
		r.wrongAt(placeOf(source, firstBroken(source)), "the text is not valid UTF-8")
		return nil
	case strings.ContainsRune(source, 0):
		r.wrongAt(placeOf(source, strings.IndexByte(source, 0)), "the text holds a NUL byte")
		return nil
	}
	tokens := lexer.Tokenize(r.source)
	if !r.plain(tokens) {
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey()) // which are found, all of them, later
	if err != nil {
		r.unreadable(err)
		return nil
	}
	var documents []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.CommentType {
			documents = append(documents, doc.Body)
		}
	}
	if len(documents) == 0 {
		r.wrongAt(&token.Position{Line: 1, Column: 1}, "the workflow is empty; it needs version, name and steps")
		return nil
	}
	if len(documents) > 1 {
		r.wrong(documents[1], "there is a second document; a workflow is one")
	}
	return documents[0]
}

// firstBroken is where the first byte is that is no UTF-8.
func firstBroken(s string) int {
	for i, c := range s {
		if c == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return i
			}
		}
	}
	return len(s)
}

func placeOf(source string, at int) *token.Position {
	before := source[:max(at, 0)]
	line := strings.Count(before, "\n")
	return &token.Position{Line: line + 1, Column: utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1}
}

// unreadable notes the parser's complaint: its place, without the text around it.
func (r *reader) unreadable(err error) {
	var positioned interface {
		error
		GetToken() *token.Token
	}
	var at *token.Position
	if errors.As(err, &positioned) {
		if t := positioned.GetToken(); t != nil {
			at = t.Position
		}
	}
	r.wrongAt(at, "this is not YAML")
}
