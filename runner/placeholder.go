package runner

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// placeholder finds the next thing that looks like one. A shell's ${name} is none.
var placeholder = regexp.MustCompile(`(^|[^$])(\{[a-z][A-Za-z0-9_.+-]*\})`)

// portPlace is a port of a slot.
var portPlace = regexp.MustCompile(`^\{port(?:\+([1-9]|1[0-9]))?\}$`)

// cutPlace cuts text around its first placeholder.
func cutPlace(text string) (before, place, after string, found bool) {
	at := placeholder.FindStringSubmatchIndex(text)
	if at == nil {
		return text, "", "", false
	}
	return text[:at[4]], text[at[4]:at[5]], text[at[5]:], true
}

// placesIn lists what looks like a placeholder in text, in order.
func placesIn(text string) (found []string) {
	for {
		_, place, after, ok := cutPlace(text)
		if !ok {
			return found
		}
		found, text = append(found, place), after
	}
}

// inputOf is the name of the input that a placeholder stands for.
func inputOf(place string) (name string, input bool) {
	return strings.CutPrefix(strings.Trim(place, "{}"), "with.")
}

// places lists the placeholders of a text, in order. One that there is not is an error that says which there are.
func (p Program) places(text string) ([]string, error) {
	found := placesIn(text)
	for _, place := range found {
		name, input := inputOf(place)
		_, known := p.Inputs[name]
		switch {
		case place == "{goal}", place == "{serial}", portPlace.MatchString(place), input && known:
		case input && len(p.Inputs) == 0:
			return nil, fmt.Errorf("there are no inputs that a {with.NAME} could stand for")
		case input:
			return nil, fmt.Errorf("unknown input; there are %s", strings.Join(slices.Sorted(maps.Keys(p.Inputs)), ", "))
		default:
			return nil, fmt.Errorf("unknown placeholder; there are {goal}, {serial}, {with.NAME}, {port} and {port+1} to {port+%d}", PortsPerSlot-1)
		}
	}
	return found, nil
}

// filling is what placeholders stand for.
type filling struct {
	goal, serial string
	with         map[string]string
	port         int
}

// fill is text with everything in its place. What is put in is not looked at again.
func (f filling) fill(text string) string {
	var b strings.Builder
	for {
		before, place, after, found := cutPlace(text)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString(f.value(place))
		text = after
	}
}

func (f filling) value(place string) string {
	if name, input := inputOf(place); input {
		if value, known := f.with[name]; known {
			return value
		}
	}
	switch place {
	case "{goal}":
		return f.goal
	case "{serial}":
		return f.serial
	}
	if m := portPlace.FindStringSubmatch(place); m != nil {
		above, _ := strconv.Atoi("0" + m[1]) // the pattern lets nothing else through
		return strconv.Itoa(f.port + above)
	}
	return place
}

func (f filling) all(texts []string) []string {
	filled := slices.Clone(texts)
	for i, text := range filled {
		filled[i] = f.fill(text)
	}
	return filled
}

// Pattern is a regular expression that a whole value must match.
type Pattern struct {
	text  string
	whole *regexp.Regexp
}

// NewPattern reads a regular expression in Go's syntax.
func NewPattern(text string) (*Pattern, error) {
	if _, err := regexp.Compile(text); err != nil {
		return nil, err
	}
	whole, err := regexp.Compile(`\A(?:` + text + `)\z`)
	return &Pattern{text, whole}, err
}

func (p *Pattern) matches(value string) bool { return p.whole.MatchString(value) }

func (p *Pattern) String() string { return p.text }
