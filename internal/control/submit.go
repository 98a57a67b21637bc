package control

import (
	"context"
	"errors"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
	"github.com/phonebooth-dev/phonebooth/workflow"
)

// Submit stores a task and gives back its id after COMMIT, without waiting for a device (S1.1). key is the caller's
// idempotency key, "" for none; a repeat under it with the same bodyHash gives the task as it is now, with replayed set, and
// one with another body is refused (C17). spec has its defaults.
func (c *Control) Submit(ctx context.Context, by Caller, spec phonebooth.TaskSpec, key, bodyHash string) (t phonebooth.Task, replayed bool, err error) {
	spec, refusal := c.checked(ctx, spec)
	if refusal != nil && key == "" {
		return t, false, refusal
	}
	id, err := mintTaskID()
	if err != nil {
		return t, false, answer(err, nil)
	}
	submission := phonebooth.Submission{Subject: by.Subject, IdempotencyKey: key, BodyHash: bodyHash}
	var earlier phonebooth.TaskID
	v := verb("submit", by)
	v.NeedsHead = true
	idem := store.IdempotencyKey{Subject: by.Subject, Key: key}
	if key != "" {
		v.Keys = fixed(store.Keys{Idempotency: []store.IdempotencyKey{idem}})
	} else {
		v.Keys = fixed(store.Keys{})
	}
	v.Decide = func(view ledger.View) (lifecycle.Change, error) {
		if earlier = view.Idempotency[idem]; earlier != "" && key != "" {
			return lifecycle.Change{}, nil
		}
		if refusal != nil { // what is true of a submission now says nothing of the one that it may repeat
			return lifecycle.Change{}, refusal
		}
		change, err := lifecycle.Submit(id, spec, submission, view.Head.Queued, c.opts.MaxQueueDepth, view.Now)
		if err == nil {
			t = change.Tasks[0]
		}
		return change, err
	}
	err = c.ledger.Do(ctx, v)
	if errors.Is(err, store.ErrConstraint) { // another replica took the key in the meantime: it is found now
		err = c.ledger.Do(ctx, v)
	}
	if err != nil {
		return phonebooth.Task{}, false, answer(err, nil) // not t: the ledger may still be deciding
	}
	if earlier != "" {
		t, err = c.replay(ctx, earlier, bodyHash)
		return t, true, err
	}
	return t, false, nil
}

// replay answers a repeated submission.
func (c *Control) replay(ctx context.Context, id phonebooth.TaskID, bodyHash string) (phonebooth.Task, error) {
	t, err := c.Task(ctx, id)
	if err == nil && t.Submission.BodyHash != bodyHash {
		return phonebooth.Task{}, phonebooth.Errorf(phonebooth.Invalid, "idempotency_key_reused",
			"this Idempotency-Key was already used with another body; use a new key for a new task").With("pointer", "Idempotency-Key")
	}
	return t, err
}

// checked is spec as it is stored, or its refusal: the same whether it is submitted or only explained.
func (c *Control) checked(ctx context.Context, spec phonebooth.TaskSpec) (phonebooth.TaskSpec, error) {
	if err := spec.Validate(); err != nil {
		return spec, err
	}
	return c.resolveWorkflow(ctx, spec, workflows{})
}

// resolveWorkflow pins the version of a workflow, and refuses one that does not exist, and inputs that it does not have
// (S1.4). Workflows are immutable and never removed, so what was found stays true.
func (c *Control) resolveWorkflow(ctx context.Context, spec phonebooth.TaskSpec, known workflows) (phonebooth.TaskSpec, error) {
	if spec.Workflow == nil {
		return spec, nil
	}
	w, err := known.read(ctx, c, *spec.Workflow)
	if err != nil {
		return spec, err
	}
	if _, err := w.def.Bind(spec.Inputs); err != nil {
		return spec, err
	}
	spec.Workflow = &w.ref
	return spec, nil
}

// workflows are the definitions that the tasks of one submission have named so far.
type workflows map[phonebooth.WorkflowRef]definition

type definition struct {
	ref phonebooth.WorkflowRef // with its version
	def workflow.Definition
}

func (known workflows) read(ctx context.Context, c *Control, asked phonebooth.WorkflowRef) (definition, error) {
	if d, ok := known[asked]; ok {
		return d, nil
	}
	w, err := c.Workflow(ctx, asked.Name, asked.Version)
	if err != nil {
		return definition{}, err
	}
	def, err := workflow.Parse(w.Source)
	if err != nil {
		return definition{}, phonebooth.Errorf(phonebooth.Invalid, "invalid",
			"this version of the workflow cannot be read any more; apply the workflow again").With("pointer", "/workflow/version").Because(err)
	}
	known[asked] = definition{ref: w.WorkflowRef, def: def}
	return known[asked], nil
}
