package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/control"
)

// maxBatchBytes is the most that the body of a batch may hold: a thousand goals of a few paragraphs.
const maxBatchBytes = 4 << 20 // 4 MiB

func (s *Server) registerBatch() {
	add(s, call{
		method: http.MethodPost, path: v1.PathTaskBatch, id: "submit-batch", tag: "tasks", access: onlyAdmin, status: http.StatusCreated,
		maxBody: maxBatchBytes,
		summary: "Submit several tasks, all or none",
		description: "Stores up to 1,000 tasks as queued in one transaction, in their order, and answers with them. One that is refused, or a " +
			"queue without room for all, refuses the batch; extra.pointer, such as /tasks/3/goal, and extra.index name the culprit. The body may " +
			"hold 4 MiB. The Idempotency-Key is that of the whole batch: a repeat of it answers 200 with the same tasks as they are now.",
		codes: []string{"workflow_unknown", "idempotency_key_reused", "task_unknown", "queue_full", "store_full", "outcome_unknown"},
		responses: map[string]*huma.Response{"200": {
			Description: "The same batch was accepted before: its tasks as they are now", Content: s.jsonOf(v1.TaskBatch{}),
		}},
	}, s.submitBatch)
}

type batchInput struct {
	keyed
	Body v1.TaskBatchRequest
}

type batchOutput struct {
	Status int
	Body   v1.TaskBatch
}

func (s *Server) submitBatch(ctx context.Context, in *batchInput) (*batchOutput, error) {
	key, err := in.key()
	if err != nil {
		return nil, err
	}
	specs := make([]phonebooth.TaskSpec, len(in.Body.Tasks))
	for i, req := range in.Body.Tasks {
		if specs[i], err = req.Checked(); err != nil {
			return nil, control.InBatch(i, err)
		}
	}
	hash, err := hashOf(specs)
	if err != nil {
		return nil, err
	}
	tasks, replayed, err := s.control.SubmitBatch(ctx, callerOf(ctx), specs, key, hash)
	if err != nil {
		return nil, err
	}
	out := &batchOutput{Status: http.StatusCreated, Body: v1.TaskBatch{Tasks: make([]v1.Task, len(tasks))}}
	if replayed {
		out.Status = http.StatusOK
	}
	for i, t := range tasks {
		out.Body.Tasks[i] = v1.TaskOf(t)
	}
	return out, nil
}
