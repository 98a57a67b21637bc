package httpapi_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

func TestAWorkflowTellsWhatItDeclares(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	source := `version: steps/v1
name: look
inputs:
  app: {description: the app, required: true}
  colour: {default: dark}
steps:
  - open ${{ inputs.app }}
  - id: shot
    name: A picture
    uses: screenshot
    if: always
  - run: echo done
`
	if _, err := h.admin.ApplyWorkflow(t.Context(), "look", source); err != nil {
		t.Fatal(err)
	}
	w, err := h.admin.Workflow(t.Context(), "look", 0)
	if err != nil {
		t.Fatal(err)
	}
	inputs := []v1.WorkflowInput{{Name: "app", Description: "the app", Required: true}, {Name: "colour", Default: "dark"}}
	steps := []v1.WorkflowStep{
		{ID: "step-1", Goal: "open ${{ inputs.app }}"},
		{ID: "shot", Name: "A picture", Uses: "screenshot", If: "always"},
		{ID: "step-3", Uses: "shell"},
	}
	if diff := cmp.Diff(inputs, w.Inputs); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(steps, w.Steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}
