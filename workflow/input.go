package workflow

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/phonebooth-dev/phonebooth"
)

// Bind takes the inputs that a task gives, a JSON object or nothing, and fills in the defaults of the others. The error is a
// *phonebooth.Error with code invalid, whose detail "pointer" says which input of a submission is wrong.
func (d Definition) Bind(inputs json.RawMessage) (map[string]string, error) {
	given := map[string]json.RawMessage{}
	if len(inputs) > 0 {
		if err := json.Unmarshal(inputs, &given); err != nil {
			return nil, badInput("", "the workflow's inputs must be an object")
		}
	}
	values := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, declared := d.Inputs[name]; !declared {
			return nil, badInput(name, "the workflow has no such input; it has: %s", named(d.Inputs))
		}
		var value *string
		if err := json.Unmarshal(given[name], &value); err != nil || value == nil {
			return nil, badInput(name, "the workflow's input %s must be a string", name)
		}
		if problem := unfit(*value); problem != "" {
			return nil, badInput(name, "the workflow's input %s %s", name, problem)
		}
		values[name] = *value
	}
	for _, name := range slices.Sorted(maps.Keys(d.Inputs)) {
		if _, ok := values[name]; ok {
			continue
		}
		if d.Inputs[name].Required {
			return nil, badInput(name, "the workflow requires the input %s", name)
		}
		values[name] = d.Inputs[name].Default
	}
	return values, nil
}

var plainName = regexp.MustCompile(`^` + identifier + `$`)

// badInput points at an input of a submission; at all of them when its name is none that an input could have.
func badInput(name, format string, args ...any) error {
	pointer := "/workflow/inputs"
	if plainName.MatchString(name) {
		pointer += "/" + name
	}
	return phonebooth.Errorf(phonebooth.Invalid, "invalid", format, args...).With("pointer", pointer)
}

// named lists the names of m, for people.
func named[V any](m map[string]V) string {
	if len(m) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}

// unfit says why value can be no goal, argument or variable, after its subject; "" when it can.
func unfit(value string) string {
	switch {
	case len(value) > MaxValueBytes:
		return fmt.Sprintf("is longer than %d bytes", MaxValueBytes)
	case strings.ContainsRune(value, 0) || !utf8.ValidString(value):
		return "holds a NUL byte or is not valid UTF-8"
	}
	return ""
}
