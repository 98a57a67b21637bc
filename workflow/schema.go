package workflow

import _ "embed"

//go:embed steps-v1.schema.json
var schema string

// Schema is the grammar as a JSON Schema (draft 2020-12), for editors. What it cannot say, such as which steps are earlier,
// [Check] does.
func Schema() string { return schema }
