package runner

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Limits of the outputs that a program may leave.
const (
	MaxOutputs     = 64
	MaxOutputBytes = 64 << 10 // names and values together
)

var outputName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,62}$`)

// ReadOutputs reads what a program left for later steps: the outputs of its result, and for names that are not there the lines
// NAME=VALUE of PHONEBOOTH_OUTPUTS. A value is the rest of its line; lines that are empty or begin with # are none. The error
// says what does not count, and why; what is returned beside it counts. It never holds a value.
func ReadOutputs(p Place) (map[string]string, error) {
	outputs, wrong := lineOutputs(p)
	if text, err := readLeft(p.Result, "the result", MaxResultBytes); text != nil && err == nil {
		if r, _, err := parseResult(text); err == nil && len(r.Outputs) > 0 { // what is wrong with a result, ReadResult says
			both := maps.Clone(outputs)
			if both == nil {
				both = map[string]string{}
			}
			maps.Copy(both, r.Outputs)
			if validOutputs(both) != nil {
				return r.Outputs, errors.Join(wrong, errors.New("the file of outputs does not count: with those of the result they are too many"))
			}
			outputs = both
		}
	}
	return outputs, wrong
}

func lineOutputs(p Place) (map[string]string, error) {
	text, err := readLeft(p.Outputs, "the file of outputs", MaxOutputBytes)
	if err != nil || text == nil {
		return nil, err
	}
	outputs := map[string]string{}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, found := strings.Cut(line, "=")
		if !found {
			return nil, fmt.Errorf("the file of outputs does not count: line %d is not NAME=VALUE", number)
		}
		outputs[name] = value
	}
	if err := validOutputs(outputs); err != nil {
		return nil, fmt.Errorf("the file of outputs does not count: %w", err)
	}
	return outputs, nil
}

func validOutputs(outputs map[string]string) error {
	if len(outputs) > MaxOutputs {
		return fmt.Errorf("%d are the most, and there are %d", MaxOutputs, len(outputs))
	}
	bytes := 0
	for name, value := range outputs {
		bytes += len(name) + len(value)
		switch {
		case !outputName.MatchString(name):
			return errors.New("a name must be a letter or underscore and then at most 62 letters, digits, underscores and hyphens")
		case !utf8.ValidString(value) || strings.ContainsRune(value, 0):
			return fmt.Errorf("the value of %s must be UTF-8 without NUL", name)
		}
	}
	if bytes > MaxOutputBytes {
		return fmt.Errorf("names and values together must be at most %d bytes", MaxOutputBytes)
	}
	return nil
}
