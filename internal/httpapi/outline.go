package httpapi

import (
	"maps"
	"slices"
	"strconv"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/workflow"
)

// withOutline adds to a workflow what its text declares. Of a text that this version cannot read, nothing is added.
func withOutline(w v1.Workflow) v1.Workflow {
	d, err := workflow.Parse(w.Source)
	if err != nil {
		return w
	}
	for _, name := range slices.Sorted(maps.Keys(d.Inputs)) {
		in := d.Inputs[name]
		w.Inputs = append(w.Inputs, v1.WorkflowInput{Name: name, Description: in.Description, Required: in.Required, Default: in.Default})
	}
	for i, s := range d.Steps {
		step := v1.WorkflowStep{ID: s.ID, Name: s.Name, Uses: s.Uses, If: string(s.If)}
		if step.ID == "" {
			step.ID = "step-" + strconv.Itoa(i+1)
		}
		switch {
		case s.Run != "":
			step.Uses = workflow.Shell
		case s.Uses == "":
			step.Goal = v1.ShortGoal(string(s.Goal))
		}
		w.Steps = append(w.Steps, step)
	}
	return w
}
