package httpapi

import (
	"context"
	"net/http"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// Explanations say why tasks wait, where they run, and how they ended.
type Explanations interface {
	Explain(ctx context.Context, id phonebooth.TaskID) (v1.Explanation, error)
	ExplainSpec(ctx context.Context, spec phonebooth.TaskSpec) (v1.Explanation, error)
}

func (s *Server) registerExplanations() {
	add(s, call{
		method: http.MethodGet, path: v1.PathTasks + "/{id}/explain", id: "explain-task", tag: "tasks", access: onlyAdmin,
		summary: "Explain a task",
		description: "Why a queued task waits, clause by clause and device by device, and which tasks are ahead of it for those very devices; " +
			"where an active one runs and what is pending; how an ended one ended, attempt by attempt. The sentences are made of the rest.",
		codes: []string{"task_unknown"},
	}, s.explainTask)
	add(s, call{
		method: http.MethodPost, path: v1.PathTasks + "/explain", id: "explain-submission", tag: "tasks", access: onlyAdmin,
		summary: "Explain a task before it is submitted",
		description: "What a submission would meet at this moment: checked exactly as a submission is, but nothing is stored and nothing is used " +
			"up. A full queue is told as refusal.",
		codes: []string{"workflow_unknown"},
	}, s.explainSpec)
}

type explanationOutput struct{ Body v1.Explanation }

func (s *Server) explainTask(ctx context.Context, in *taskInput) (*explanationOutput, error) {
	e, err := s.control.Explain(ctx, phonebooth.TaskID(in.ID))
	if err != nil {
		return nil, err
	}
	return &explanationOutput{Body: e}, nil
}

type explainInput struct{ Body v1.TaskRequest }

func (s *Server) explainSpec(ctx context.Context, in *explainInput) (*explanationOutput, error) {
	spec, err := in.Body.Checked()
	if err != nil {
		return nil, err
	}
	e, err := s.control.ExplainSpec(ctx, spec)
	if err != nil {
		return nil, err
	}
	return &explanationOutput{Body: e}, nil
}
