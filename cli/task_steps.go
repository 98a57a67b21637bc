package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// stepsOf takes the steps out of a workflow's result: rest is what else it holds. A result without steps is all rest.
func stepsOf(t v1.Task) (steps []v1.StepResult, rest json.RawMessage) {
	var fields map[string]json.RawMessage
	if t.Workflow == nil || json.Unmarshal(t.Result, &fields) != nil || json.Unmarshal(fields["steps"], &steps) != nil || len(steps) == 0 {
		return nil, t.Result
	}
	delete(fields, "steps")
	if len(fields) == 0 {
		return steps, nil
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if e.Encode(fields) != nil { // it was JSON a moment ago
		return nil, t.Result
	}
	return steps, bytes.TrimSpace(text.Bytes())
}

func printSteps(cmd *cobra.Command, steps []v1.StepResult) error {
	var rows [][]string
	for _, s := range steps {
		reason := s.Code // first, since a long message is cut
		if s.Message != "" {
			reason = strings.TrimPrefix(s.Code+": "+s.Message, ": ")
		}
		rows = append(rows, []string{
			short(s.ID, 24), short(whatStep(s), 32), stepStanding(s), tries(s), tookStep(s), short(stepOutputs(s), 48), stepSection(s), short(reason, 80),
		})
	}
	return printTable(cmd, "steps", []string{"STEP", "WHAT", "STATUS", "TRIES", "TOOK", "OUTPUTS", "LOG", "REASON"}, rows)
}

// whatStep is the step's name and what ran it.
func whatStep(s v1.StepResult) string {
	if s.Name != "" && s.Uses != "" {
		return s.Name + " (" + s.Uses + ")"
	}
	return cmp.Or(s.Name, s.Uses)
}

func stepStanding(s v1.StepResult) string {
	if s.ContinueOnError && s.Status == v1.StepFailed {
		return s.Status + ", went on"
	}
	return s.Status
}

func tries(s v1.StepResult) string {
	if s.Tries == 0 {
		return ""
	}
	return strconv.Itoa(s.Tries)
}

func tookStep(s v1.StepResult) string {
	if s.Tries == 0 {
		return ""
	}
	return span(time.Duration(s.DurationMS) * time.Millisecond)
}

func stepOutputs(s v1.StepResult) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(s.Outputs)) {
		pairs = append(pairs, name+"="+s.Outputs[name])
	}
	return strings.Join(pairs, ", ")
}

// stepSection is which bytes of the runner's log are the step's.
func stepSection(s v1.StepResult) string {
	if s.LogBytes == 0 {
		return ""
	}
	return fmt.Sprintf("%d-%d", s.LogOffset, s.LogOffset+s.LogBytes-1)
}

// stepOf finds a step of an ended task.
func stepOf(cmd *cobra.Command, t v1.Task, id string) (v1.StepResult, error) {
	steps, _ := stepsOf(t)
	var known []string
	for _, s := range steps {
		if s.ID == id {
			return s, nil
		}
		known = append(known, s.ID)
	}
	if len(known) == 0 {
		return v1.StepResult{}, usage(cmd, "the task has no result with steps; a workflow has one when it has ended")
	}
	return v1.StepResult{}, usage(cmd, "there is no step %q; there are: %s", clean(id), clean(strings.Join(known, ", ")))
}
