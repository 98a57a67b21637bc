package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

func (s *Server) registerTasks() {
	add(s, call{
		method: http.MethodPost, path: v1.PathTasks, id: "submit-task", tag: "tasks", access: onlyAdmin, status: http.StatusCreated,
		summary: "Submit a task",
		description: "Stores a task as queued and answers with it, without waiting for a device. With an Idempotency-Key a repeat of the " +
			"same body answers 200 with the task as it is now, and another body under the key is refused.",
		codes: []string{"workflow_unknown", "idempotency_key_reused", "queue_full", "store_full", "outcome_unknown"},
		responses: map[string]*huma.Response{"200": {
			Description: "The same submission was accepted before: the task as it is now", Content: s.jsonOf(v1.Task{}),
		}},
	}, s.submit)
	add(s, call{
		method: http.MethodGet, path: v1.PathTasks, id: "list-tasks", tag: "tasks", access: onlyAdmin,
		summary: "List tasks",
		description: "Newest submission first, a page at a time. One call looks at a bounded number of tasks: a page may be short, or empty, " +
			"and there are more as long as it has next.",
	}, s.listTasks)
	add(s, call{
		method: http.MethodGet, path: v1.PathTasks + "/{id}", id: "read-task", tag: "tasks", access: onlyAdmin,
		summary: "Read a task", description: "As it is now, also after its end, as long as it is retained.",
		codes: []string{"task_unknown"},
	}, s.readTask)
	add(s, call{
		method: http.MethodGet, path: v1.PathTasks + "/{id}/attempts", id: "list-attempts", tag: "tasks", access: onlyAdmin,
		summary: "List a task's attempts", description: "Every one, the first one first, with its device, host, times and ending.",
		codes: []string{"task_unknown"},
	}, s.listAttempts)
	add(s, call{
		method: http.MethodPost, path: v1.PathTasks + "/{id}/cancel", id: "cancel-task", tag: "tasks", access: onlyAdmin,
		summary: "Cancel a task",
		description: "A queued task ends at once. For one that runs the request is recorded, and its host told; it is asked again with the " +
			"same answer. A task that ended otherwise is a conflict that says how.",
		codes: []string{"task_unknown", "task_ended", "outcome_unknown"},
		responses: map[string]*huma.Response{"202": {
			Description: "The cancellation is recorded; the task ends when its host has stopped it", Content: s.jsonOf(v1.Task{}),
		}},
	}, s.cancel)
}

// keyed is an input with an idempotency key.
type keyed struct {
	IdempotencyKey string   `header:"Idempotency-Key" doc:"1 to 255 printable ASCII characters without spaces; clients should always send one"`
	keys           []string // as sent: an empty one, or two, are mistakes and not the same as none
}

// Resolve notes how the key was sent. The framework may call it more than once.
func (in *keyed) Resolve(ctx huma.Context) []error {
	in.keys = nil
	ctx.EachHeader(func(name, value string) {
		if name == v1.HeaderIdempotencyKey {
			in.keys = append(in.keys, value)
		}
	})
	return nil
}

type submitInput struct {
	keyed
	Body v1.TaskRequest
}

type submitOutput struct {
	Status   int
	Location string `header:"Location" doc:"the task's path"`
	Body     v1.Task
}

func (s *Server) submit(ctx context.Context, in *submitInput) (*submitOutput, error) {
	key, err := in.key()
	if err != nil {
		return nil, err
	}
	spec, err := in.Body.Checked()
	if err != nil {
		return nil, err
	}
	hash, err := hashOf(spec)
	if err != nil {
		return nil, err
	}
	t, replayed, err := s.control.Submit(ctx, callerOf(ctx), spec, key, hash)
	if err != nil {
		return nil, err
	}
	out := &submitOutput{Status: http.StatusCreated, Location: v1.PathTasks + "/" + string(t.ID), Body: v1.TaskOf(t)}
	if replayed {
		out.Status = http.StatusOK
	}
	return out, nil
}

func (in *keyed) key() (string, error) {
	switch len(in.keys) {
	case 0:
		return "", nil
	case 1:
		return in.keys[0], phonebooth.ValidIdempotencyKey(in.keys[0])
	}
	return "", phonebooth.Errorf(phonebooth.Invalid, "invalid", "send one Idempotency-Key, not several").With("pointer", v1.HeaderIdempotencyKey)
}

// hashOf tells different submissions apart by what they mean, a task from a batch of one too: the order of fields, blanks and
// defaults written out make no difference.
func hashOf[S phonebooth.TaskSpec | []phonebooth.TaskSpec](asked S) (string, error) {
	text, err := json.Marshal(asked)
	if err != nil {
		return "", fmt.Errorf("hash a submission: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

type taskInput struct {
	ID string `path:"id" doc:"the task's id"`
}

type taskOutput struct {
	Status int
	Body   v1.Task
}

func (s *Server) readTask(ctx context.Context, in *taskInput) (*taskOutput, error) {
	t, err := s.control.Task(ctx, phonebooth.TaskID(in.ID))
	if err != nil {
		return nil, err
	}
	return &taskOutput{Status: http.StatusOK, Body: v1.TaskOf(t)}, nil
}

type attemptListOutput struct{ Body v1.AttemptList }

func (s *Server) listAttempts(ctx context.Context, in *taskInput) (*attemptListOutput, error) {
	attempts, err := s.control.Attempts(ctx, phonebooth.TaskID(in.ID))
	if err != nil {
		return nil, err
	}
	out := &attemptListOutput{Body: v1.AttemptList{Attempts: []v1.Attempt{}}}
	for _, a := range attempts {
		out.Body.Attempts = append(out.Body.Attempts, v1.AttemptOf(a))
	}
	return out, nil
}

func (s *Server) cancel(ctx context.Context, in *taskInput) (*taskOutput, error) {
	t, err := s.control.Cancel(ctx, callerOf(ctx), phonebooth.TaskID(in.ID))
	if err != nil {
		return nil, err
	}
	out := &taskOutput{Status: http.StatusAccepted, Body: v1.TaskOf(t)}
	if t.Status.Terminal() {
		out.Status = http.StatusOK
	}
	return out, nil
}
