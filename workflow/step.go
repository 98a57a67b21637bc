package workflow

import (
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/phonebooth-dev/phonebooth"
)

func (r *reader) steps(node ast.Node) []Step {
	list, ok := node.(*ast.SequenceNode)
	if !ok || len(list.Values) == 0 {
		r.wrong(node, "steps must be a list of one or more steps")
		return nil
	}
	if len(list.Values) > MaxSteps {
		r.wrong(list.Values[MaxSteps], "more than %d steps", MaxSteps)
		list.Values = list.Values[:MaxSteps]
	}
	steps := make([]Step, len(list.Values))
	ids := map[string]int{}
	for i, value := range list.Values {
		if _, ok := pairsOf(value); ok {
			steps[i] = r.step(value, i)
		} else if _, ok := r.text(value, "a step"); ok {
			steps[i].Goal = r.goal(value, i)
		}
		id := Definition{Steps: steps}.id(i)
		if at, taken := ids[id]; taken {
			r.wrong(value, "step %d has the id of this step; ids are unique, and a step without one is step-N", at+1)
			continue
		}
		ids[id] = i
	}
	return steps
}

// step reads step i, written as a mapping.
func (r *reader) step(node ast.Node, i int) Step {
	var s Step
	seen := r.fields(node, "a step",
		field{"id", false, func(n ast.Node) { s.ID = r.id(n) }},
		field{"name", false, func(n ast.Node) { s.Name = r.stepName(n) }},
		field{"goal", false, func(n ast.Node) { s.Goal = r.goal(n, i) }},
		field{"uses", false, func(n ast.Node) { s.Uses = r.uses(n) }},
		field{"with", false, func(n ast.Node) { s.With = r.with(n, i) }},
		field{"run", false, func(n ast.Node) { s.Run = r.run(n) }},
		field{"env", false, func(n ast.Node) { s.Env = r.env(n, i) }},
		field{"if", false, func(n ast.Node) { s.If = r.condition(n) }},
		field{"continue-on-error", false, func(n ast.Node) { s.ContinueOnError = r.truth(n, "continue-on-error") }},
		field{"timeout-minutes", false, func(n ast.Node) { s.Timeout = r.minutes(n) }},
		field{"retry", false, func(n ast.Node) { s.Retry = r.retry(n) }},
	)
	does := 0
	for _, name := range []string{"goal", "uses", "run"} {
		if seen[name] {
			does++
		}
	}
	switch {
	case does != 1:
		r.wrong(node, "a step has exactly one of goal, uses and run")
	case seen["with"] && !seen["uses"]:
		r.wrong(node, "with belongs to uses; a goal and a script get values through env")
	}
	return s
}

func (r *reader) id(node ast.Node) string {
	id, ok := r.text(node, "id")
	if ok && !plainName.MatchString(id) {
		r.wrong(node, "id must be 1 to 63 letters, digits, underscores and hyphens, and begin with no digit or hyphen")
		return ""
	}
	return id
}

func (r *reader) stepName(node ast.Node) string {
	name, ok := r.scalar(node, "name")
	switch {
	case !ok:
	case strings.TrimSpace(name) == "" || len(name) > MaxNameBytes:
		r.wrong(node, "a step's name must be 1 to %d bytes long", MaxNameBytes)
	default:
		r.literal(node, name, "a step's name is a string as it is")
	}
	return name
}

func (r *reader) goal(node ast.Node, i int) Text {
	if text, ok := r.text(node, "the step's goal"); !ok || strings.TrimSpace(text) == "" {
		if ok {
			r.wrong(node, "the step's goal is empty")
		}
		return ""
	}
	return r.filled(node, "the step's goal", i, true)
}

func (r *reader) uses(node ast.Node) string {
	name, ok := r.text(node, "uses")
	if ok && !phonebooth.ValidName(name) {
		r.wrong(node, "uses must be the name of a runner: 1 to 63 letters, digits, dots, underscores and hyphens")
	}
	return name
}

func (r *reader) with(node ast.Node, i int) map[string]Text {
	with, variables := map[string]Text{}, map[string]bool{}
	r.named(node, "with", func(name string, key, value ast.Node) {
		v := strings.ReplaceAll(strings.ToUpper(name), "-", "_")
		if variables[v] {
			r.wrong(key, "names in with that differ only in case or in hyphens and underscores are one variable to the runner")
		}
		variables[v] = true
		with[name] = r.filled(value, "a value of with", i, true)
	})
	return with
}

func (r *reader) run(node ast.Node) string {
	script, ok := r.text(node, "run")
	switch {
	case !ok:
	case strings.TrimSpace(script) == "":
		r.wrong(node, "the script is empty")
	case unfit(script) != "":
		r.wrong(node, "the script %s", unfit(script))
	default:
		r.literal(node, script, "a shell would take them for parts of the script: name them in env, and use \"$NAME\"")
	}
	return script
}

func (r *reader) condition(node ast.Node) Condition {
	text, ok := r.text(node, "if")
	c := Condition(text)
	if ok && c != Success && c != Failure && c != Always {
		r.wrong(node, "if must be success, failure or always")
	}
	return c
}

// minMinutes is 60 ms.
const minMinutes = 0.001

func (r *reader) minutes(node ast.Node) time.Duration {
	minutes, most := -1.0, MaxStepTimeout.Minutes()
	switch n := node.(type) {
	case *ast.IntegerNode:
		minutes = float64(whole(n))
	case *ast.FloatNode:
		minutes = n.Value
	}
	if !(minutes >= minMinutes && minutes <= most) {
		r.wrong(node, "timeout-minutes must be a number from %g to %g", minMinutes, most)
		return 0
	}
	return time.Duration(minutes * float64(time.Minute))
}

func (r *reader) retry(node ast.Node) int {
	n, ok := node.(*ast.IntegerNode)
	if !ok || whole(n) < 0 || whole(n) > MaxRetry {
		r.wrong(node, "retry must be a whole number from 0 to %d: how often the step is tried again", MaxRetry)
		return 0
	}
	return int(whole(n))
}

// whole is the number of a node, -1 for one that is too large for everything here.
func whole(n *ast.IntegerNode) int64 {
	switch v := n.Value.(type) {
	case int64:
		return v
	case uint64:
		if v < 1<<31 {
			return int64(v)
		}
	}
	return -1
}
