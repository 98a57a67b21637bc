// Package schematest judges texts by a JSON Schema that ships, so that tests can hold it to the parser of the same files.
//
//	s := schematest.Compile(t, preset.Schema())
//	refused, err := s.YAML(text)   // nil, nil: the schema accepts it
//
// It is for tests only. A Schema may be used by any number of goroutines.
package schematest

import (
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is one that compiles.
type Schema struct{ compiled *jsonschema.Schema }

// Compile ends the test when text is no JSON Schema.
func Compile(t testing.TB, text string) Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return Schema{s}
}

// JSON is why the schema does not accept text, or why it is no JSON.
func (s Schema) JSON(text string) error {
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	return s.compiled.Validate(value)
}

// YAML is why the schema does not accept text. err says that text is no YAML, which the schema does not see.
func (s Schema) YAML(text string) (refused, err error) {
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	return s.JSON(string(asJSON)), nil
}
