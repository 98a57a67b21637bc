package workflow

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/runner"
)

// uses is the runner that the step names, "" when it leaves that to the task.
func (s Step) uses() string {
	if s.Run != "" {
		return Shell
	}
	return s.Uses
}

// workOf is the work of step i, with the values in their places. The error is a *phonebooth.Error.
func (p *passage) workOf(i int) (runner.Work, error) {
	step, w := p.definition.Steps[i], p.work
	w.Step, w.Steps, w.StepID, w.Try = i+1, len(p.definition.Steps), p.definition.id(i), 0
	w.Runner, w.Timeout = cmp.Or(step.uses(), w.Runner), cmp.Or(step.Timeout, w.Timeout)
	values := p.values
	values.env = maps.Clone(p.values.env)
	maps.Copy(values.env, fillAll(step.Env, p.values))
	with := fillAll(step.With, values)
	goal := step.Goal
	if step.Uses != "" {
		goal = step.With["goal"]
		delete(with, "goal")
	}
	w.Goal, w.Composed = values.fill(goal, MaxValueBytes), goal.Refers()
	if step.Run != "" {
		w.Goal, w.Composed = step.Run, false
	}
	if step.Goal != "" && strings.TrimSpace(w.Goal) == "" {
		return w, tooMuch("the step's goal is empty once the values are in their places")
	}
	w.With, w.Env = nil, slices.Clone(p.work.Env)
	if len(with) > 0 {
		w.With = with
	}
	for _, name := range slices.Sorted(maps.Keys(values.env)) {
		w.Env = append(w.Env, name+"="+values.env[name])
	}
	return w, fits(w.Goal, with, values.env)
}

// fillAll is texts with the values in their places.
func fillAll(texts map[string]Text, values scope) map[string]string {
	filled := map[string]string{}
	for name, text := range texts {
		filled[name] = values.fill(text, MaxValueBytes)
	}
	return filled
}

// fits refuses what a program cannot be given.
func fits(goal string, with, env map[string]string) error {
	if problem := unfit(goal); problem != "" {
		return tooMuch("the step's goal %s once the values are in their places", problem)
	}
	size := len(goal)
	for what, values := range map[string]map[string]string{"with": with, "env": env} {
		for name, value := range values {
			if problem := unfit(value); problem != "" {
				return tooMuch("%s in the step's %s %s once the values are in their places", name, what, problem)
			}
			size += len(name) + len(value)
		}
	}
	if size > MaxWorkBytes {
		return tooMuch("the step's goal, with and env are longer than %d bytes together", MaxWorkBytes)
	}
	return nil
}

func tooMuch(format string, args ...any) error {
	return phonebooth.Errorf(phonebooth.Invalid, "invalid_task", format, args...)
}
