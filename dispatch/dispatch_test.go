package dispatch_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/dispatch"
	"github.com/phonebooth-dev/phonebooth/runner"
	"github.com/phonebooth-dev/phonebooth/workflow"
)

// entries are entry points that keep what they were asked.
type entries struct {
	report    phonebooth.Report
	goals     []string
	workflows []string
}

func (e *entries) execute(_ context.Context, w runner.Work) runner.Ended {
	e.goals = append(e.goals, w.Goal)
	return runner.Ended{Report: e.report}
}

func (e *entries) workflow(ctx context.Context, d workflow.Definition, w runner.Work, execute runner.Execute) phonebooth.Report {
	e.workflows = append(e.workflows, d.Name)
	return workflow.Run(ctx, d, w, execute)
}

func (e *entries) dispatcher(t *testing.T) *dispatch.Dispatcher {
	d, err := dispatch.New("host_a", e.execute, e.workflow)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestS4_1_ADispatcherComposesTheEntryPoints(t *testing.T) {
	t.Parallel()
	e := &entries{report: phonebooth.Report{Outcome: phonebooth.OutcomeDone}}
	d := e.dispatcher(t)
	if _, err := d.Dispatch(t.Context(), dispatch.Assignment{HostID: "host_a", Work: runner.Work{Goal: "goal"}}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(e.goals, []string{"goal"}) || e.workflows != nil {
		t.Errorf("a goal went to %q and %q, want the task-execution entry point alone", e.goals, e.workflows)
	}
	flow := &workflow.Definition{Name: "flow", Steps: []workflow.Step{{Goal: "one"}, {Goal: "two"}}}
	if _, err := d.Dispatch(t.Context(), dispatch.Assignment{HostID: "host_a", Workflow: flow}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(e.workflows, []string{"flow"}) || !slices.Equal(e.goals, []string{"goal", "one", "two"}) {
		t.Errorf("a workflow went to %q and %q, want the workflow-execution entry point, and its steps to the other", e.workflows, e.goals)
	}
}

func TestS4_2_TheOutcomeOfTheRunIsTheReport(t *testing.T) {
	t.Parallel()
	for _, want := range []phonebooth.Report{
		{Outcome: phonebooth.OutcomeDone, Result: []byte(`{"n":1}`), Runner: "r"}, runner.Failed("runner_failed", "no"), runner.GivenBack("try_again", "later"),
	} {
		got, err := (&entries{report: want}).dispatcher(t).Dispatch(t.Context(), dispatch.Assignment{HostID: "host_a", Work: runner.Work{Goal: "g"}})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", want.Outcome, err, diff)
		}
	}
}

func TestS4_3_AnotherHostsAssignmentIsRefusedAndTouchesNothing(t *testing.T) {
	t.Parallel()
	e := &entries{}
	d := e.dispatcher(t)
	flow := &workflow.Definition{Name: "flow", Steps: []workflow.Step{{Goal: "one"}}}
	for _, c := range []struct {
		a    dispatch.Assignment
		want string
	}{
		{dispatch.Assignment{HostID: "host_b", Work: runner.Work{Goal: "g"}}, "not_local"},
		{dispatch.Assignment{HostID: "host_b", Workflow: flow}, "not_local"},
		{dispatch.Assignment{Work: runner.Work{Goal: "g"}}, "not_local"},
		{dispatch.Assignment{HostID: "host_a"}, "invalid"},
		{dispatch.Assignment{HostID: "host_a", Work: runner.Work{Goal: "g"}, Workflow: flow}, "invalid"},
	} {
		report, err := d.Dispatch(t.Context(), c.a)
		if phonebooth.CodeOf(err) != c.want || report.Outcome != "" {
			t.Errorf("Dispatch(%+v) = %+v, %v, want %s", c.a, report, err, c.want)
		}
	}
	if e.goals != nil || e.workflows != nil {
		t.Errorf("entry points were called: %q, %q, want none", e.goals, e.workflows)
	}
}

func TestNewNeedsAHostAndBothEntryPoints(t *testing.T) {
	t.Parallel()
	e := &entries{}
	for name, err := range map[string]error{
		"host":     second(dispatch.New("", e.execute, e.workflow)),
		"goal":     second(dispatch.New("host_a", nil, e.workflow)),
		"workflow": second(dispatch.New("host_a", e.execute, nil)),
	} {
		if err == nil {
			t.Errorf("New without %s: no error, want one", name)
		}
	}
}

func second(_ *dispatch.Dispatcher, err error) error { return err }
