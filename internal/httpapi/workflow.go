package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

func (s *Server) registerWorkflows() {
	add(s, call{
		method: http.MethodPut, path: v1.PathWorkflows + "/{name}", id: "apply-workflow", tag: "workflows", access: onlyAdmin,
		summary: "Apply a workflow", description: "Makes a new version when the content differs from the newest one. Versions never change.",
		codes: []string{"outcome_unknown"},
		responses: map[string]*huma.Response{"201": {
			Description: "A new version was made", Content: s.jsonOf(v1.Workflow{}),
		}},
	}, s.applyWorkflow)
	add(s, call{
		method: http.MethodGet, path: v1.PathWorkflows, id: "list-workflows", tag: "workflows", access: onlyAdmin,
		summary: "List workflows", description: "The newest version of each.",
	}, s.listWorkflows)
	add(s, call{
		method: http.MethodGet, path: v1.PathWorkflows + "/{name}", id: "read-workflow", tag: "workflows", access: onlyAdmin,
		summary: "Read a workflow", description: "One version of it, with what its text declares.",
		codes: []string{"workflow_unknown"},
	}, s.readWorkflow)
}

type applyInput struct {
	Name string `path:"name"`
	Body v1.WorkflowRequest
}

type workflowInput struct {
	Name    string `path:"name"`
	Version int    `query:"version" minimum:"0" doc:"0 is the newest"`
}

type workflowOutput struct {
	Status int
	Body   v1.Workflow
}

type workflowListOutput struct{ Body v1.WorkflowList }

func (s *Server) applyWorkflow(ctx context.Context, in *applyInput) (*workflowOutput, error) {
	if !phonebooth.ValidName(in.Name) {
		return nil, phonebooth.Errorf(phonebooth.Invalid, "invalid",
			"the workflow's name must be 1 to 63 letters, digits, dots, underscores and hyphens").With("pointer", "name")
	}
	w, created, err := s.control.ApplyWorkflow(ctx, callerOf(ctx), in.Name, in.Body.Source)
	if err != nil {
		return nil, err
	}
	out := &workflowOutput{Status: http.StatusOK, Body: v1.WorkflowOf(w)}
	if created {
		out.Status = http.StatusCreated
	}
	return out, nil
}

func (s *Server) listWorkflows(ctx context.Context, _ *struct{}) (*workflowListOutput, error) {
	workflows, err := s.control.Workflows(ctx)
	if err != nil {
		return nil, err
	}
	out := &workflowListOutput{Body: v1.WorkflowList{Workflows: []v1.Workflow{}}}
	for _, w := range workflows {
		out.Body.Workflows = append(out.Body.Workflows, v1.WorkflowOf(w))
	}
	return out, nil
}

func (s *Server) readWorkflow(ctx context.Context, in *workflowInput) (*workflowOutput, error) {
	w, err := s.control.Workflow(ctx, in.Name, in.Version)
	if err != nil {
		return nil, err
	}
	return &workflowOutput{Status: http.StatusOK, Body: withOutline(v1.WorkflowOf(w))}, nil
}
