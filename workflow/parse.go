package workflow

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/phonebooth-dev/phonebooth"
)

// Parse reads a definition. The error is a *phonebooth.Error with code invalid; its message begins with the place and it
// carries line and column (from 1) as details. Nothing of the text is echoed but the names of the grammar.
func Parse(source string) (Definition, error) {
	switch {
	case len(source) > MaxSourceBytes:
		return Definition{}, mistake(nil, "the workflow is longer than %d bytes", MaxSourceBytes)
	case !utf8.ValidString(source):
		return Definition{}, mistake(placeOf(source, strings.IndexFunc(source, isBroken)), "the text is not valid UTF-8")
	case strings.ContainsRune(source, 0):
		return Definition{}, mistake(placeOf(source, strings.IndexByte(source, 0)), "the text holds a NUL byte")
	}
	file, err := parser.ParseBytes([]byte(source), 0)
	if err != nil {
		return Definition{}, unreadable(err)
	}
	var documents []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.CommentType {
			documents = append(documents, doc.Body)
		}
	}
	switch len(documents) {
	case 0:
		return Definition{}, mistake(&token.Position{Line: 1, Column: 1}, "the workflow is empty; it needs version, name and steps")
	case 1:
		return readDefinition(documents[0])
	}
	return Definition{}, mistakeAt(documents[1], "there is a second document; a workflow is one")
}

// isBroken is for strings.IndexFunc: it finds the first byte that is no UTF-8.
func isBroken(r rune) bool { return r == utf8.RuneError }

func placeOf(source string, at int) *token.Position {
	before := source[:max(at, 0)]
	line := strings.Count(before, "\n")
	return &token.Position{Line: line + 1, Column: utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1}
}

func readDefinition(body ast.Node) (Definition, error) {
	var d Definition
	fields, err := entries(body, "the workflow")
	if err != nil {
		return d, err
	}
	seen := map[string]bool{}
	for _, field := range fields {
		name, err := text(field.Key, "a field's name")
		if err != nil {
			return d, err
		}
		if seen[name] {
			return d, mistakeAt(field.Key, "this field is there twice")
		}
		seen[name] = true
		switch name {
		case "version":
			err = readVersion(field.Value)
		case "name":
			d.Name, err = readName(field.Value)
		case "steps":
			d.Steps, err = readSteps(field.Value)
		default:
			err = mistakeAt(field.Key, "unknown field; there are version, name and steps")
		}
		if err != nil {
			return d, err
		}
	}
	for _, name := range []string{"version", "name", "steps"} {
		if !seen[name] {
			return d, mistakeAt(body, "%s is missing", name)
		}
	}
	return d, nil
}

func readVersion(node ast.Node) error {
	version, err := text(node, "version")
	if err != nil {
		return err
	}
	if version != Version {
		return mistakeAt(node, "version must be %s", Version)
	}
	return nil
}

func readName(node ast.Node) (string, error) {
	name, err := text(node, "name")
	if err != nil {
		return "", err
	}
	if !phonebooth.ValidName(name) {
		return "", mistakeAt(node, "name must be 1 to 63 letters, digits, dots, underscores and hyphens")
	}
	return name, nil
}

func readSteps(node ast.Node) ([]Step, error) {
	list, ok := node.(*ast.SequenceNode)
	if !ok || len(list.Values) == 0 {
		return nil, mistakeAt(node, "steps must be a list of one or more goals")
	}
	if len(list.Values) > MaxSteps {
		return nil, mistakeAt(list.Values[MaxSteps], "more than %d steps", MaxSteps)
	}
	steps := make([]Step, len(list.Values))
	for i, value := range list.Values {
		goal, err := text(value, "a step")
		if err != nil {
			return nil, err
		}
		switch {
		case strings.TrimSpace(goal) == "":
			return nil, mistakeAt(value, "the step's goal is empty")
		case len(goal) > phonebooth.MaxGoalBytes:
			return nil, mistakeAt(value, "the step's goal is longer than %d bytes", phonebooth.MaxGoalBytes)
		case strings.ContainsRune(goal, 0) || !utf8.ValidString(goal):
			return nil, mistakeAt(value, "the step's goal holds a NUL byte or is not valid UTF-8")
		}
		steps[i] = Step{Goal: goal}
	}
	return steps, nil
}

// entries are the fields of a mapping, however it is written.
func entries(node ast.Node, what string) ([]*ast.MappingValueNode, error) {
	switch n := node.(type) {
	case *ast.MappingNode:
		return n.Values, nil
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, nil
	}
	return nil, mistakeAt(node, "%s must be fields: version, name and steps", what)
}

// text is a string, however it is written. Numbers, anchors, aliases and tags are none.
func text(node ast.Node, what string) (string, error) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	}
	return "", mistakeAt(node, "%s must be a string; put it in quotes if it looks like something else", what)
}

// unreadable turns the parser's error into ours: its place and its complaint, without the text around it.
func unreadable(err error) error {
	complaint := "this is not YAML"
	var positioned interface {
		error
		GetToken() *token.Token
		GetMessage() string
	}
	if !errors.As(err, &positioned) {
		return mistake(nil, "%s", complaint)
	}
	if strings.Contains(positioned.GetMessage(), "already defined") {
		complaint = "this field is there twice"
	}
	if t := positioned.GetToken(); t != nil {
		return mistake(t.Position, "%s", complaint)
	}
	return mistake(nil, "%s", complaint)
}

func mistakeAt(node ast.Node, format string, args ...any) error {
	if t := node.GetToken(); t != nil {
		return mistake(t.Position, format, args...)
	}
	return mistake(nil, format, args...)
}

func mistake(at *token.Position, format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	if at == nil {
		return phonebooth.Errorf(phonebooth.Invalid, "invalid", "%s", message).With("pointer", "/source")
	}
	return phonebooth.Errorf(phonebooth.Invalid, "invalid", "line %d, column %d: %s", at.Line, at.Column, message).
		With("pointer", "/source").With("line", strconv.Itoa(at.Line)).With("column", strconv.Itoa(at.Column))
}
