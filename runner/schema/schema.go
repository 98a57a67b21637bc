// Package schema is the contract of package runner as JSON Schemas (draft 2020-12), for those who write runners in other
// languages: one for each file that passes between host and program.
//
// A program whose files they accept will be understood, but for what they cannot say: lengths in bytes. They check nothing by
// themselves; the host reads files with package runner, which accepts no more than they do. The functions are pure.
package schema

import _ "embed"

var (
	//go:embed input.schema.json
	input string
	//go:embed result.schema.json
	result string
	//go:embed event.schema.json
	event string
)

// Input is the schema of the file at PHONEBOOTH_INPUT, [runner.Input].
func Input() string { return input }

// Result is the schema of the file at PHONEBOOTH_RESULT, [runner.Result].
func Result() string { return result }

// Event is the schema of one line of the file at PHONEBOOTH_EVENTS, [runner.Event].
func Event() string { return event }
