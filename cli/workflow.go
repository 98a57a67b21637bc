package cli

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth/workflow"
)

func (p *program) workflow() *cobra.Command {
	return group(&cobra.Command{
		Use: "workflow", Short: "Check and apply workflows, and see them",
		Example: "phonebooth workflow check dark-mode.yaml\nphonebooth workflow apply dark-mode.yaml\nphonebooth submit --workflow dark-mode --wait",
	}, p.workflowCheck(), p.workflowApply(), p.workflowList(), p.workflowGet(), schemaOf("workflow", "steps-v1.schema.json", workflow.Schema()))
}

// workflowRef reads NAME or NAME@VERSION; version 0 is the newest.
func workflowRef(cmd *cobra.Command, text string) (name string, version int, err error) {
	name, after, given := strings.Cut(text, "@")
	if !given {
		return name, 0, nil
	}
	version, err = strconv.Atoi(after)
	if err != nil || version < 1 {
		return "", 0, usage(cmd, "a workflow is given as NAME or NAME@VERSION, with a version from 1")
	}
	return name, version, nil
}
