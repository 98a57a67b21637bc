package httpapi

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

type listTasksInput struct {
	Status       []string  `query:"status" enum:"queued,assigned,dispatched,done,failed,cancelled" doc:"any of these, separated by commas"`
	Label        []string  `query:"label,explode" maxItems:"32" doc:"KEY or KEY=VALUE; given several times, all must match"`
	DeviceID     string    `query:"device_id" doc:"on this device now or last"`
	HostID       string    `query:"host_id" doc:"on this host now or last"`
	Workflow     string    `query:"workflow" maxLength:"128" doc:"NAME or NAME@VERSION"`
	DriverType   []string  `query:"driver_type" maxItems:"32" doc:"that the constraints name: any of these, separated by commas"`
	CreatedSince time.Time `query:"created_since" doc:"submitted then or later"`
	CreatedUntil time.Time `query:"created_until" doc:"submitted before"`
	Text         string    `query:"text" maxLength:"256" doc:"in the goal; the case of ASCII letters makes no difference"`
	Cursor       string    `query:"cursor" maxLength:"64" doc:"next of the page before"`
	Limit        int       `query:"limit" minimum:"1" maximum:"500" default:"50"`
}

type taskListOutput struct{ Body v1.TaskList }

func (s *Server) listTasks(ctx context.Context, in *listTasksInput) (*taskListOutput, error) {
	filter, err := in.filter()
	if err != nil {
		return nil, err
	}
	page, err := s.control.Tasks(ctx, filter)
	if err != nil {
		return nil, err
	}
	out := &taskListOutput{Body: v1.TaskList{Tasks: []v1.Task{}}}
	if page.Next > 0 {
		out.Body.Next = cursorOf(page.Next)
	}
	for _, t := range page.Tasks {
		out.Body.Tasks = append(out.Body.Tasks, v1.TaskOf(t))
	}
	return out, nil
}

func (in *listTasksInput) filter() (f store.TaskFilter, err error) {
	f = store.TaskFilter{
		DeviceID: phonebooth.DeviceID(in.DeviceID), HostID: phonebooth.HostID(in.HostID), DriverTypes: in.DriverType,
		Since: in.CreatedSince, Until: in.CreatedUntil, Text: in.Text, Limit: in.Limit,
	}
	for _, status := range in.Status {
		f.Status = append(f.Status, phonebooth.Status(status))
	}
	if f.Before, err = parseCursor(in.Cursor); err != nil {
		return f, err
	}
	if f.Labels, err = parseLabels(in.Label); err != nil {
		return f, err
	}
	f.Workflow, f.WorkflowVersion, err = parseWorkflow(in.Workflow)
	return f, err
}

// parseWorkflow reads NAME or NAME@VERSION.
func parseWorkflow(text string) (name string, version int, err error) {
	name, digits, ok := strings.Cut(text, "@")
	if ok {
		version, err = strconv.Atoi(digits)
	}
	if err != nil || ok && version < 1 || text != "" && !phonebooth.ValidName(name) {
		return "", 0, phonebooth.Errorf(phonebooth.Invalid, "invalid", "a workflow is asked for as NAME or NAME@VERSION").With("pointer", "workflow")
	}
	return name, version, nil
}

// cursorOf is the cursor of the page that begins below seq.
func cursorOf(seq int64) string {
	return base64.RawURLEncoding.EncodeToString([]byte("seq:" + strconv.FormatInt(seq, 10)))
}

func parseCursor(cursor string) (before int64, err error) {
	if cursor == "" {
		return 0, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	digits, ok := strings.CutPrefix(string(text), "seq:")
	before, parseErr := strconv.ParseInt(digits, 10, 64)
	if err != nil || parseErr != nil || !ok || before < 1 {
		return 0, badCursor()
	}
	return before, nil
}

func badCursor() *phonebooth.Error {
	return phonebooth.Errorf(phonebooth.Invalid, "invalid", "the cursor is not one of ours; send next of the page before, as it is").
		With("pointer", "cursor")
}

// parseLabels reads terms of the forms KEY and KEY=VALUE.
func parseLabels(terms []string) (labels []store.Label, err error) {
	for _, term := range terms {
		name, value, pair := strings.Cut(term, "=")
		if !phonebooth.ValidName(name) {
			return nil, phonebooth.Errorf(phonebooth.Invalid, "invalid", "a label is asked for as KEY or KEY=VALUE").With("pointer", "label")
		}
		labels = append(labels, store.Label{Name: name, Value: value, Any: !pair})
	}
	return labels, nil
}
