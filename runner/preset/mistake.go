package preset

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// Mistake is one thing that is wrong with a preset: where, from 1, and what is allowed there. Values are never repeated.
type Mistake struct {
	Line, Column int
	Message      string
}

func (m Mistake) String() string { return fmt.Sprintf("%d:%d: %s", m.Line, m.Column, m.Message) }

// Mistakes are all that is wrong with a preset, in the order of the file.
type Mistakes []Mistake

func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i, mistake := range m {
		lines[i] = mistake.String()
	}
	return strings.Join(lines, "\n")
}

// inFile is a mistake at a place that whoever reads the file around it can find.
type inFile struct {
	Mistake
	token *token.Token
}

func (e *inFile) Error() string                 { return e.Message }
func (e *inFile) GetMessage() string            { return e.Message }
func (e *inFile) GetToken() *token.Token        { return e.token }
func (e *inFile) FormatError(bool, bool) string { return e.Message }

// mistakeAt is a mistake at node.
func mistakeAt(node ast.Node, format string, args ...any) *inFile {
	e := &inFile{Mistake: Mistake{Line: 1, Column: 1, Message: fmt.Sprintf(format, args...)}}
	if e.token = tokenOf(node); e.token != nil && e.token.Position != nil {
		e.Line, e.Column = e.token.Position.Line, e.token.Position.Column
	}
	return e
}

// tokenOf is where a node begins: of fields, that is their first key.
func tokenOf(node ast.Node) *token.Token {
	switch n := node.(type) {
	case nil:
		return nil
	case *ast.MappingNode:
		if len(n.Values) > 0 && !n.IsFlowStyle {
			return tokenOf(n.Values[0])
		}
	case *ast.MappingValueNode:
		return tokenOf(n.Key)
	}
	return node.GetToken()
}
