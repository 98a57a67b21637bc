package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// schemaOf is the schema of a tool's arguments. Besides what jsonschema reads, the tags minimum, maximum, default and enum (its
// values parted by commas; of a list they are its elements') of a field say what is taken: anything else is refused by name,
// and a default is filled in.
func schemaOf[In any]() *jsonschema.Schema {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		panic(fmt.Sprintf("schema of %T: %v", *new(In), err)) // the types are this package's own
	}
	for f := range reflect.TypeFor[In]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		property := schema.Properties[name]
		property.Minimum, property.Maximum = bound(f.Tag.Get("minimum")), bound(f.Tag.Get("maximum"))
		if text, ok := f.Tag.Lookup("default"); ok {
			property.Default = json.RawMessage(text)
		}
		if text, ok := f.Tag.Lookup("enum"); ok {
			if property.Items != nil {
				property = property.Items
			}
			for _, value := range strings.Split(text, ",") {
				property.Enum = append(property.Enum, value)
			}
		}
	}
	return schema
}

func bound(text string) *float64 {
	if text == "" {
		return nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic("bound: " + err.Error()) // the tags are this package's own
	}
	return &n
}

// sayWhatIsInvalid makes arguments that a schema refuses a refusal like the others. Null stands for no arguments: the SDK
// panics when it fills defaults into it.
func sayWhatIsInvalid(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if call, ok := req.(*sdk.CallToolRequest); ok && string(bytes.TrimSpace(call.Params.Arguments)) == "null" {
			call.Params.Arguments = json.RawMessage("{}")
		}
		answer, err := next(ctx, method, req)
		result, ok := answer.(*sdk.CallToolResult)
		if err != nil || !ok || !result.IsError || len(result.Content) != 1 {
			return answer, err
		}
		if text, ok := result.Content[0].(*sdk.TextContent); ok {
			if detail, ok := strings.CutPrefix(text.Text, "validating \"arguments\": "); ok {
				detail = strings.TrimPrefix(detail, "validating root: ")
				detail = strings.NewReplacer("validating /properties/", "", ".000000", "", "/items", "").Replace(detail)
				result.Content = []sdk.Content{&sdk.TextContent{Text: "invalid: " + cut(detail, 1<<10) + "\nnext: " + advice["invalid"]}}
			}
		}
		return result, nil
	}
}
