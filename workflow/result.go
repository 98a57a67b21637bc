package workflow

import (
	"encoding/json"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/runner"
)

// maxCutMessage is how much is kept of each step's message when all of them are too much together.
const maxCutMessage = 256

// encode is the steps as a task's result. When it is longer than a result may be, the longest of the steps' own results are
// left out until it is not; then the longest outputs; then long messages are cut. How each step ended always stays.
func encode(steps []v1.StepResult) json.RawMessage {
	for i := range steps {
		steps[i].Result = valid(steps[i].Result)
	}
	for {
		text, err := json.Marshal(v1.WorkflowResult{Steps: steps})
		if err != nil {
			return nil // numbers, strings and valid JSON always encode
		}
		if len(text) <= runner.MaxResultBytes || !lighten(steps, len(text)-runner.MaxResultBytes) {
			return text
		}
	}
}

// lighten takes about excess bytes out of steps; false: there is nothing left to take.
func lighten(steps []v1.StepResult, excess int) bool {
	took := false
	for excess > 0 {
		at, size := longest(steps, func(s v1.StepResult) int { return len(s.Result) })
		if size > 0 {
			steps[at].Result = nil
		} else if at, size = longest(steps, outputBytes); size > 0 {
			steps[at].Outputs = nil
		} else if at, size = longest(steps, func(s v1.StepResult) int { return len(s.Message) - maxCutMessage }); size > 0 {
			steps[at].Message = runner.Clean(steps[at].Message, maxCutMessage)
		} else {
			return took
		}
		took, excess = true, excess-size
	}
	return took
}

// longest is the step with the most of something.
func longest(steps []v1.StepResult, size func(v1.StepResult) int) (at, most int) {
	for i, s := range steps {
		if n := size(s); n > most {
			at, most = i, n
		}
	}
	return at, most
}

func outputBytes(s v1.StepResult) int {
	n := 0
	for name, value := range s.Outputs {
		n += len(name) + len(value) + len(`"":"",`)
	}
	return n
}

// valid is a step's own result if it is JSON.
func valid(result json.RawMessage) json.RawMessage {
	if !json.Valid(result) {
		return nil
	}
	return result
}
