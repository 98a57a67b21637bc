package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// workflowOf is what --workflow and --input say. Which inputs there are, the server knows.
func (s *submission) workflowOf(cmd *cobra.Command) (*v1.WorkflowRef, error) {
	var ref v1.WorkflowRef
	var err error
	if ref.Name, ref.Version, err = workflowRef(cmd, s.workflow); err != nil {
		return nil, err
	}
	inputs := map[string]string{}
	for _, text := range s.inputs {
		name, value, found := strings.Cut(text, "=")
		if _, twice := inputs[name]; twice {
			return nil, usage(cmd, "--input gives %s twice", clean(name))
		}
		if !found || name == "" {
			return nil, usage(cmd, "--input is NAME=VALUE; VALUE may be empty")
		}
		inputs[name] = value
	}
	if len(inputs) == 0 {
		return &ref, nil
	}
	if ref.Inputs, err = json.Marshal(inputs); err != nil {
		return nil, fmt.Errorf("encode the inputs: %w", err)
	}
	return &ref, nil
}
