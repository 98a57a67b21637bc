package control

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
	"github.com/phonebooth-dev/phonebooth/workflow"
)

// ApplyWorkflow makes source the newest version of the workflow, unless it already is; created tells which.
func (c *Control) ApplyWorkflow(ctx context.Context, by Caller, name, source string) (w phonebooth.Workflow, created bool, err error) {
	def, err := workflow.Parse(source)
	if err != nil {
		return w, false, err
	}
	if def.Name != name {
		return w, false, phonebooth.Errorf(phonebooth.Invalid, "invalid",
			"the workflow calls itself by another name than the address; make them the same").With("pointer", "/source")
	}
	sum := sha256.Sum256([]byte(source))
	v := verb("apply_workflow", by)
	v.Keys = fixed(store.Keys{Workflows: []string{name}})
	v.Decide = func(view ledger.View) (lifecycle.Change, error) {
		var change lifecycle.Change
		change, w, created = lifecycle.ApplyWorkflow(view.Workflows[name], name, source, hex.EncodeToString(sum[:]), view.Now)
		return change, nil
	}
	err = c.ledger.Do(ctx, v)
	if errors.Is(err, store.ErrConstraint) { // another replica made that version in the meantime
		err = c.ledger.Do(ctx, v)
	}
	if err != nil {
		return phonebooth.Workflow{}, false, answer(err, nil)
	}
	return w, created, nil
}

// Workflow is one version of a workflow; version 0 is the newest.
func (c *Control) Workflow(ctx context.Context, name string, version int) (phonebooth.Workflow, error) {
	w, err := c.store.Workflow(ctx, name, version)
	return w, answer(err, unknownWorkflow())
}

// Workflows lists the newest version of each workflow.
func (c *Control) Workflows(ctx context.Context) ([]phonebooth.Workflow, error) {
	ws, err := c.store.Workflows(ctx)
	return ws, answer(err, nil)
}
