package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

type submitIn struct {
	Goal           string            `json:"goal,omitempty" jsonschema:"what the device should do, in words or in the runner's own language; at most 100 KiB; give this or workflow"`
	Workflow       string            `json:"workflow,omitempty" jsonschema:"instead of a goal: NAME of a workflow of list_workflows"`
	Version        int               `json:"workflow_version,omitempty" jsonschema:"of the workflow; left out: the newest" minimum:"1"`
	Inputs         map[string]string `json:"inputs,omitempty" jsonschema:"of the workflow, by name"`
	DriverType     string            `json:"driver_type,omitempty" jsonschema:"android, ios, webdriver, sim or another of list_devices; left out: any"`
	Tags           []string          `json:"tags,omitempty" jsonschema:"all of them the device must have"`
	Runner         string            `json:"runner,omitempty" jsonschema:"program that does the work; one of the runners of list_devices; left out: the host's own choice"`
	DeviceID       string            `json:"device_id,omitempty" jsonschema:"only this device; better left out, so that any matching one can take the task"`
	TimeoutS       int64             `json:"timeout_s,omitempty" jsonschema:"seconds one attempt may take; left out: 1800" minimum:"1" maximum:"86400"`
	QueueTimeoutS  int64             `json:"queue_timeout_s,omitempty" jsonschema:"seconds after which the task fails if it still waits; left out: it waits for ever" minimum:"1"`
	Priority       int               `json:"priority,omitempty" jsonschema:"larger goes first" minimum:"-10" maximum:"10" default:"0"`
	MaxAttempts    int               `json:"max_attempts,omitempty" jsonschema:"left out: 3; only for losses of a device or host: a failed goal is not repeated" minimum:"1" maximum:"10"`
	Labels         map[string]string `json:"labels,omitempty" jsonschema:"to find the task again with list_tasks"`
	IdempotencyKey string            `json:"idempotency_key,omitempty" jsonschema:"1 to 255 printable characters; the same key with the same arguments is the same task, so a repeat never runs twice; left out: one is made and told"`
	DryRun         bool              `json:"dry_run,omitempty" jsonschema:"submit nothing; say where it would start or what it would wait for"`
}

type submitOut struct {
	DryRun         bool     `json:"dry_run"`
	IdempotencyKey string   `json:"idempotency_key,omitempty"`
	Task           *taskOut `json:"task,omitempty"`
	Explanation    []string `json:"explanation,omitempty" jsonschema:"why it waits, or where it would start"`
}

type taskIn struct {
	TaskID string `json:"task_id" jsonschema:"from submit_task or list_tasks"`
}

type waitIn struct {
	TaskID   string `json:"task_id" jsonschema:"from submit_task or list_tasks"`
	TimeoutS int    `json:"timeout_s,omitempty" jsonschema:"seconds to wait at most; keep it below your own limit for a call" minimum:"1" maximum:"600" default:"45"`
}

type taskOut struct {
	TaskID          string            `json:"task_id"`
	Status          string            `json:"status" jsonschema:"queued, assigned, dispatched (it runs), done, failed or cancelled"`
	Ended           bool              `json:"ended" jsonschema:"nothing more will happen to it"`
	Goal            string            `json:"goal,omitempty" jsonschema:"data: the words of whoever submitted it; cut after 2 KiB"`
	Workflow        string            `json:"workflow,omitempty"`
	DeviceID        string            `json:"device_id,omitempty" jsonschema:"of the newest attempt"`
	Attempt         int               `json:"attempt" jsonschema:"number of the newest attempt; 0: none has begun"`
	MaxAttempts     int               `json:"max_attempts"`
	CancelRequested bool              `json:"cancel_requested,omitempty"`
	FailureCode     string            `json:"failure_code,omitempty"`
	FailureMessage  string            `json:"failure_message,omitempty" jsonschema:"data from the device"`
	Result          string            `json:"result,omitempty" jsonschema:"JSON that the runner left, as text: data from the device; cut after 16 KiB"`
	Labels          map[string]string `json:"labels,omitempty"`
	CreatedAt       time.Time         `json:"created_at"`
	FinishedAt      *time.Time        `json:"finished_at,omitempty"`
	Explanation     []string          `json:"explanation,omitempty" jsonschema:"of a wait whose time was up: where it stands and why"`
	Next            string            `json:"next" jsonschema:"what to call next"`
}

type listIn struct {
	Status []string `json:"status,omitempty" jsonschema:"any of them; left out: all" enum:"queued,assigned,dispatched,done,failed,cancelled"`
	Labels []string `json:"labels,omitempty" jsonschema:"KEY or KEY=VALUE; all of them"`
	Cursor string   `json:"cursor,omitempty" jsonschema:"next_cursor of the page before"`
	Limit  int      `json:"limit,omitempty" jsonschema:"of a page" minimum:"1" maximum:"50" default:"20"`
}

type listOut struct {
	Tasks      []taskOut `json:"tasks" jsonschema:"newest first"`
	NextCursor string    `json:"next_cursor,omitempty" jsonschema:"there are more as long as it is there"`
}

type explainOut struct {
	TaskID    string   `json:"task_id"`
	Status    string   `json:"status"`
	Sentences []string `json:"sentences" jsonschema:"the reason first"`
}

func (s *Server) taskTools() {
	add(s, "submit_task", "Submit a task: a goal or a workflow that some matching device carries out. Returns its task_id at once; call wait_task next. "+
		"With dry_run nothing is submitted and the answer says where it would start or why it would wait. A task that no device can take is accepted and waits: "+
		"read explanation. After a lost answer repeat with the same idempotency_key.", changes(false, false), submit)
	add(s, "wait_task", "Wait until a task has ended, at most timeout_s seconds, reporting progress. ended=false means that the time was up, not that it failed: "+
		"explanation says where it stands and why; call wait_task again, or cancel_task. Cancelling this call does not cancel the task.", reads(), wait)
	add(s, "get_task", "Read one task as it is now: status, attempt, failure, result. Call explain_task for the reasons and read_log for what it wrote.", reads(),
		func(ctx context.Context, c *client.Client, in taskIn, _ *sdk.CallToolRequest) (taskOut, error) {
			t, err := c.Task(ctx, in.TaskID)
			return viewOf(t), err
		})
	add(s, "list_tasks", "List tasks, newest first, a page at a time. A page may be short or empty and still have next_cursor.", reads(), listTasks)
	add(s, "explain_task", "Say in sentences why a task waits (which constraint leaves no device, who holds them, what is ahead), where it runs, or how each "+
		"attempt ended.", reads(),
		func(ctx context.Context, c *client.Client, in taskIn, _ *sdk.CallToolRequest) (explainOut, error) {
			e, err := c.Explain(ctx, in.TaskID)
			return explainOut{TaskID: in.TaskID, Status: e.Status, Sentences: cleaned(e.Sentences)}, err
		})
	add(s, "cancel_task", "Cancel a task. A queued one is cancelled at once; a running one is asked to stop, which takes seconds: call wait_task to see it end. "+
		"One that has ended is refused as task_ended.", changes(true, true),
		func(ctx context.Context, c *client.Client, in taskIn, _ *sdk.CallToolRequest) (taskOut, error) {
			t, err := c.Cancel(ctx, in.TaskID)
			return viewOf(t), err
		})
}

func submit(ctx context.Context, c *client.Client, in submitIn, _ *sdk.CallToolRequest) (submitOut, error) {
	req := v1.TaskRequest{
		Goal: in.Goal, TimeoutS: in.TimeoutS, QueueTimeoutS: in.QueueTimeoutS, Priority: in.Priority, MaxAttempts: in.MaxAttempts, Labels: in.Labels,
		Constraints: v1.Constraints{DriverType: in.DriverType, Tags: in.Tags, Runner: in.Runner, DeviceID: in.DeviceID},
	}
	if in.Workflow != "" {
		req.Workflow = &v1.WorkflowRef{Name: in.Workflow, Version: in.Version}
		if len(in.Inputs) > 0 {
			inputs, err := json.Marshal(in.Inputs)
			if err != nil {
				return submitOut{}, fmt.Errorf("encode the inputs: %w", err)
			}
			req.Workflow.Inputs = inputs
		}
	}
	if in.DryRun {
		e, err := c.ExplainRequest(ctx, req)
		return submitOut{DryRun: true, Explanation: cleaned(e.Sentences)}, nameWorkflows(ctx, c, err)
	}
	if in.IdempotencyKey == "" {
		in.IdempotencyKey = client.NewKey()
	}
	t, err := c.SubmitKey(ctx, in.IdempotencyKey, req)
	if err != nil {
		return submitOut{}, fmt.Errorf("%w\nidempotency_key: %s; whether or not it was stored, a repeat with this key never runs twice", refused(nameWorkflows(ctx, c, err)), in.IdempotencyKey)
	}
	view := viewOf(t)
	out := submitOut{IdempotencyKey: in.IdempotencyKey, Task: &view}
	if e, err := c.Explain(ctx, t.ID); err == nil { // else it is submitted all the same
		out.Explanation = cleaned(e.Sentences)
	}
	return out, nil
}

func listTasks(ctx context.Context, c *client.Client, in listIn, _ *sdk.CallToolRequest) (listOut, error) {
	page, err := c.Tasks(ctx, client.TaskQuery{Status: in.Status, Labels: in.Labels, Cursor: in.Cursor, Limit: in.Limit})
	out := listOut{Tasks: []taskOut{}, NextCursor: page.Next}
	for _, t := range page.Tasks {
		view := viewOf(t)
		view.Goal, view.Result = cut(t.Goal, 200), ""
		out.Tasks = append(out.Tasks, view)
	}
	return out, err
}

// viewOf is a task as an agent reads it.
func viewOf(t v1.Task) taskOut {
	ended := phonebooth.Status(t.Status).Terminal()
	v := taskOut{
		TaskID: t.ID, Status: t.Status, Ended: ended, Goal: cut(t.Goal, 2<<10), DeviceID: t.DeviceID, Attempt: t.Attempt, MaxAttempts: t.MaxAttempts,
		CancelRequested: t.CancelRequested, Result: cut(string(t.Result), 16<<10), CreatedAt: t.CreatedAt, FinishedAt: t.FinishedAt,
	}
	for key, value := range t.Labels {
		if v.Labels == nil {
			v.Labels = map[string]string{}
		}
		v.Labels[clean(key)] = clean(value)
	}
	if t.Workflow != nil {
		v.Workflow = fmt.Sprintf("%s@%d", t.Workflow.Name, t.Workflow.Version)
	}
	if t.Failure != nil {
		v.FailureCode, v.FailureMessage = t.Failure.Code, cut(t.Failure.Message, 4<<10)
	}
	switch phonebooth.Status(t.Status) {
	case phonebooth.Done:
		v.Next = "read_log and list_artifacts show what it left; list_steps the steps of a workflow"
	case phonebooth.Failed:
		v.Next = "explain_task says why; read_log with tail=true shows the end of its log"
	case phonebooth.Cancelled:
		v.Next = "nothing: it was cancelled"
	case phonebooth.Queued:
		v.Next = "wait_task waits for it; explain_task says why it waits"
	default:
		v.Next = "wait_task waits for its end; read_log shows what it writes; cancel_task stops it"
	}
	return v
}

func cleaned(sentences []string) []string {
	out := make([]string, len(sentences))
	for i, text := range sentences {
		out[i] = strings.ReplaceAll(cut(text, 4<<10), "\n", " ")
	}
	return out
}
