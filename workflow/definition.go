package workflow

import (
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/phonebooth-dev/phonebooth"
)

// definition reads the whole document.
func (r *reader) definition(body ast.Node) Definition {
	var d Definition
	r.fields(body, "the workflow",
		field{"version", true, r.version},
		field{"name", true, func(n ast.Node) { d.Name = r.name(n) }},
		field{"inputs", false, func(n ast.Node) { d.Inputs = r.inputs(n) }},
		field{"env", false, func(n ast.Node) { d.Env = r.env(n, -1) }},
		field{"steps", true, func(n ast.Node) { d.Steps = r.steps(n) }},
	)
	r.refer(d)
	return d
}

func (r *reader) version(node ast.Node) {
	if version, ok := r.text(node, "version"); ok && version != Version {
		r.wrong(node, "version must be %s", Version)
	}
}

func (r *reader) name(node ast.Node) string {
	name, ok := r.text(node, "name")
	if ok && !phonebooth.ValidName(name) {
		r.wrong(node, "name must be 1 to 63 letters, digits, dots, underscores and hyphens, and begin with a letter or digit")
	}
	return name
}

func (r *reader) inputs(node ast.Node) map[string]Input {
	inputs := map[string]Input{}
	r.named(node, "inputs", func(name string, _, value ast.Node) {
		var in Input
		if value != nil && value.Type() == ast.NullType { // a name alone
			inputs[name] = in
			return
		}
		seen := r.fields(value, "an input",
			field{"description", false, func(n ast.Node) { in.Description, _ = r.scalar(n, "description") }},
			field{"required", false, func(n ast.Node) { in.Required = r.truth(n, "required") }},
			field{"default", false, func(n ast.Node) {
				in.Default, _ = r.scalar(n, "default")
				r.literal(n, in.Default, "a default is a string as it is")
			}},
		)
		if in.Required && seen["default"] {
			r.wrong(value, "an input that is required has no default; leave one of them out")
		}
		inputs[name] = in
	})
	return inputs
}

// truth is true or false.
func (r *reader) truth(node ast.Node, what string) bool {
	b, ok := node.(*ast.BoolNode)
	if !ok {
		r.wrong(node, "%s must be true or false", what)
		return false
	}
	return b.Value
}

// variable is what the name of a variable is made of.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}$`)

// reserved begins the names of variables that belong to the contract with runners.
const reserved = "PHONEBOOTH_"

// env reads the variables of a step, or with step -1 of the definition.
func (r *reader) env(node ast.Node, step int) map[string]Text {
	env := map[string]Text{}
	r.named(node, "env", func(name string, key, value ast.Node) {
		switch {
		case !variable.MatchString(name):
			r.wrong(key, "a variable's name must be letters, digits and underscores")
		case strings.HasPrefix(name, reserved):
			r.wrong(key, "names that begin with %s are set by the host alone", reserved)
		}
		env[name] = r.filled(value, "a variable", step, false)
	})
	return env
}

// refer looks at the references of all texts that were read.
func (r *reader) refer(d Definition) {
	for _, p := range r.texts {
		for _, piece := range p.text.pieces() {
			wrong := piece.wrong
			if piece.ref != nil {
				wrong = d.unknown(*piece.ref, p)
			}
			if wrong != "" && len(r.problems) < maxProblems {
				r.wrongAt(r.placeOfReference(p.node, piece.nth), "%s", wrong)
			}
		}
	}
}

// unknown says why there is nothing of that name where p stands; "" when there is.
func (d Definition) unknown(ref reference, p placed) string {
	switch ref.kind {
	case ofInputs:
		if _, ok := d.Inputs[ref.name]; !ok {
			return "there is no input of that name; the workflow has: " + named(d.Inputs)
		}
		return ""
	case ofEnv:
		if p.step < 0 {
			return "the workflow's env may refer to inputs only"
		}
		if _, ok := d.Env[ref.name]; ok {
			return ""
		}
		if _, ok := d.Steps[p.step].Env[ref.name]; ok && p.own {
			return ""
		}
		return "there is no such variable here; a step's goal and with see the workflow's env and its own, its env sees the workflow's"
	}
	if p.step < 0 {
		return "the workflow's env may refer to inputs only"
	}
	earlier := slices.Collect(func(yield func(string) bool) {
		for i := 0; i < p.step && yield(d.id(i)); i++ {
		}
	})
	if slices.Contains(earlier, ref.step) {
		return ""
	}
	return "there is no earlier step of that id; before this one there are: " + strings.Join(earlier, ", ")
}
