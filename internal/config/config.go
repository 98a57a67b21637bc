// Package config reads configuration files and looks after data directories.
//
// A file is YAML, read strictly into a struct that already holds the defaults; its
// keys are the struct's yaml tags, and time is written as "30s":
//
//	cfg := Config{LeaseTTL: 30 * time.Second}
//	err := config.Load("phonebooth.yaml", &cfg)
//
// Whatever is wrong with the file is an *Error that says at which line and column. A
// program ends with exit code 2 on it.
//
// A data directory belongs to one process at a time (LockDir) and needs room
// (FreeSpace).
//
// It does not know which keys there are, and neither reads the environment nor merges
// several files. All of it may be called from any number of goroutines.
package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Error is a mistake in a configuration file, at a line and column counted from 1.
type Error struct {
	File         string
	Line, Column int
	Message      string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// Load reads the YAML file at path into the struct that into points to. Keys that the
// file does not have are left as they are; a key that the struct does not have, or
// that stands twice, is an error. After an error the struct is to be thrown away.
//
// The error is an *Error if the file could be read.
func Load(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return located(path, err)
	}
	if len(file.Docs) > 1 && file.Docs[1].Body != nil {
		return at(path, file.Docs[1].Body.GetToken(), "a second document: one file holds one configuration")
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return nil
	}
	body := file.Docs[0].Body
	if err := decode(body, into); err != nil {
		if e := located(path, err); e.Line > 0 {
			if unknown, ok := errors.AsType[*yaml.UnknownFieldError](err); ok {
				e.Message += instead(keysAt(body, reflect.TypeOf(into), unknown.Token))
			}
			return e
		}
		return at(path, culprit(body, into, err).GetToken(), err.Error())
	}
	return nil
}

func decode(body ast.Node, into any) error {
	return yaml.NewDecoder(strings.NewReader(""), yaml.Strict()).DecodeFromNode(body, into)
}

func at(path string, tok *token.Token, message string) *Error {
	e := &Error{File: path, Message: message}
	if tok != nil && tok.Position != nil {
		e.Line, e.Column = tok.Position.Line, tok.Position.Column
	}
	return e
}

// located turns an error of the parser or decoder into ours. Its line is 0 if err does
// not say where it is.
func located(path string, err error) *Error {
	var y yaml.Error
	if !errors.As(err, &y) {
		return at(path, nil, err.Error())
	}
	return at(path, y.GetToken(), message(y))
}

// message says what is wrong in the words of someone who wrote YAML, not Go, and does
// not repeat values: one may be a secret.
func message(err yaml.Error) string {
	var (
		unknown   *yaml.UnknownFieldError
		duplicate *yaml.DuplicateKeyError
		mismatch  *yaml.TypeError
		overflow  *yaml.OverflowError
		shape     *yaml.UnexpectedNodeTypeError
	)
	switch {
	case errors.As(err, &unknown):
		return fmt.Sprintf("unknown key %q", unknown.Token.Value)
	case errors.As(err, &duplicate):
		return fmt.Sprintf("key %q stands here for the second time", duplicate.Token.Value)
	case errors.As(err, &mismatch):
		return "wants " + wanted(mismatch.DstType)
	case errors.As(err, &overflow):
		return "wants a number that is not so large or negative"
	case errors.As(err, &shape) && shape.Expected == ast.MappingType:
		return "wants keys and values"
	case errors.As(err, &shape) && shape.Expected == ast.SequenceType:
		return "wants a list"
	default:
		return err.GetMessage()
	}
}

func wanted(t reflect.Type) string {
	if t == reflect.TypeFor[time.Duration]() {
		return `a duration like "30s"`
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "keys and values"
	default:
		return "text"
	}
}

// culprit finds the value that decoding refused with the error why, which does not say
// where it was: a duration, or another value that parses its own text. Values are
// blanked in the order of the file; the one whose blanking changes the error is it.
// The tree is of no use afterwards.
func culprit(body ast.Node, into any, why error) ast.Node {
	for _, blank := range blanks(body) {
		was := blank()
		err := decode(body, reflect.New(reflect.TypeOf(into).Elem()).Interface())
		if err == nil || err.Error() != why.Error() {
			return was
		}
	}
	return body
}

// blanks returns a function for each scalar of the tree that replaces it by null and
// returns what it was.
func blanks(body ast.Node) []func() ast.Node {
	var found []func() ast.Node
	add := func(slot *ast.Node) {
		if _, scalar := (*slot).(ast.ScalarNode); scalar {
			found = append(found, func() ast.Node {
				was := *slot
				*slot = ast.Null(token.New("null", "null", was.GetToken().Position))
				return was
			})
		}
	}
	ast.Walk(visitor(func(n ast.Node) {
		switch n := n.(type) {
		case *ast.MappingValueNode:
			add(&n.Value)
		case *ast.SequenceNode:
			for i := range n.Values {
				add(&n.Values[i])
			}
		}
	}), body)
	return found
}

type visitor func(ast.Node)

func (v visitor) Visit(n ast.Node) ast.Visitor {
	v(n)
	return v
}
