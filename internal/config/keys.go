package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// instead names the keys that there are, for the end of a message.
func instead(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return "; there are " + strings.Join(keys, ", ")
}

// keysAt lists the keys of that struct of t, which node is read into, whose mapping has the key at; nil if there is none.
func keysAt(node ast.Node, t reflect.Type, at *token.Token) []string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch n := node.(type) {
	case *ast.SequenceNode:
		if t.Kind() != reflect.Slice && t.Kind() != reflect.Array {
			return nil
		}
		for _, element := range n.Values {
			if keys := keysAt(element, t.Elem(), at); keys != nil {
				return keys
			}
		}
	case *ast.MappingNode:
		for _, value := range n.Values {
			if keys := keysAt(value, t, at); keys != nil {
				return keys
			}
		}
	case *ast.MappingValueNode:
		switch t.Kind() {
		case reflect.Map:
			return keysAt(n.Value, t.Elem(), at)
		case reflect.Struct:
			known := fieldsOf(t)
			if inner, ok := known[n.Key.GetToken().Value]; ok {
				return keysAt(n.Value, inner, at)
			}
			if n.Key.GetToken().Position.Offset == at.Position.Offset {
				return slices.Sorted(maps.Keys(known))
			}
		}
	}
	return nil
}

// fieldsOf are the keys of a struct with the types of their values, those of inline structs too.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	known := map[string]reflect.Type{}
	for _, field := range reflect.VisibleFields(t) {
		if len(field.Index) > 1 { // of an embedded struct, which stands for itself
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		switch {
		case strings.Contains(options, "inline") && field.Type.Kind() == reflect.Struct:
			for inner, kind := range fieldsOf(field.Type) {
				known[inner] = kind
			}
		case name != "" && name != "-":
			known[name] = field.Type
		}
	}
	return known
}
