package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

func nothingThere(t *testing.T, st store.Store) {
	ctx := t.Context()
	errorOf := func(_ any, err error) error { return err }
	for what, err := range map[string]error{
		"task":                errorOf(st.Task(ctx, "x")),
		"attempt of a lease":  errorOf(st.AttemptOfLease(ctx, "x")),
		"attempt on a device": errorOf(st.AttemptOnDevice(ctx, "x")),
		"host":                errorOf(st.Host(ctx, "x")),
		"host of a token":     errorOf(st.HostOfToken(ctx, "x")),
		"host of no token":    errorOf(st.HostOfToken(ctx, "")),
		"device":              errorOf(st.Device(ctx, "x")),
		"workflow":            errorOf(st.Workflow(ctx, "x", 0)),
		"workflow version":    errorOf(st.Workflow(ctx, "x", 1)),
		"token":               errorOf(st.Token(ctx, "x")),
		"token to spend":      st.SpendToken(ctx, "x", "h"),
	} {
		wantError(t, what, err, store.ErrNotFound)
	}
	same(t, "head", must[store.Head](t)(st.Head(ctx)), store.Head{})
	same(t, "due", must[store.Due](t)(st.Due(ctx, store.DueTimes{
		Assigned: base, Dispatched: base, Queue: base, Heard: base, Polled: base,
	}, 10)), store.Due{})
	if gone, err := st.Prune(ctx, base, 10); err != nil || len(gone) != 0 {
		t.Errorf("prune: %v, %v", gone, err)
	}
}

func tasksFiltered(t *testing.T, st store.Store) {
	pool(t, st)
	mustPut(t, st, placed(task("t1", 1), device("d1", "h1")))
	labelled := func(id phonebooth.TaskID, seq int64, labels map[string]string) phonebooth.Task {
		v := task(id, seq)
		v.Labels = labels
		return v
	}
	mustPut(t, st, lifecycle.Change{Tasks: []phonebooth.Task{
		labelled("t5", 5, map[string]string{"team": "qa", "we'ird.\"key": "1"}),
		labelled("t6", 6, map[string]string{"team": "qa", "n": "1"}),
		labelled("t7", 7, map[string]string{"team": "dev"}),
	}})
	for _, c := range []struct {
		name   string
		filter store.TaskFilter
		want   []phonebooth.TaskID
	}{
		{"all", store.TaskFilter{}, []phonebooth.TaskID{"t7", "t6", "t5", "t3", "t2", "t1"}},
		{"some", store.TaskFilter{Limit: 2}, []phonebooth.TaskID{"t7", "t6"}},
		{"the next page", store.TaskFilter{Limit: 2, Before: 6}, []phonebooth.TaskID{"t5", "t3"}},
		{"assigned", store.TaskFilter{Status: []phonebooth.Status{phonebooth.Assigned}}, []phonebooth.TaskID{"t1"}},
		{"dispatched", store.TaskFilter{Status: []phonebooth.Status{phonebooth.Dispatched}}, nil},
		{
			"assigned or dispatched",
			store.TaskFilter{Status: []phonebooth.Status{phonebooth.Dispatched, phonebooth.Assigned}},
			[]phonebooth.TaskID{"t1"},
		},
		{"queued, a page", store.TaskFilter{Status: []phonebooth.Status{phonebooth.Queued}, Before: 6, Limit: 2}, []phonebooth.TaskID{"t5", "t3"}},
		{
			"queued or done, below 5",
			store.TaskFilter{Status: []phonebooth.Status{phonebooth.Queued, phonebooth.Done}, Before: 5},
			[]phonebooth.TaskID{"t3", "t2"},
		},
		{"of a device", store.TaskFilter{DeviceID: "d1"}, []phonebooth.TaskID{"t1"}},
		{"of a host", store.TaskFilter{HostID: "h1"}, []phonebooth.TaskID{"t1"}},
		{"of another host", store.TaskFilter{HostID: "h2"}, nil},
		{"with a label", store.TaskFilter{Labels: []store.Label{{Name: "team", Value: "qa"}}}, []phonebooth.TaskID{"t6", "t5"}},
		{"with two labels", store.TaskFilter{Labels: []store.Label{{Name: "team", Value: "qa"}, {Name: "n", Value: "1"}}}, []phonebooth.TaskID{"t6"}},
		{"with a strange label", store.TaskFilter{Labels: []store.Label{{Name: "we'ird.\"key", Value: "1"}}}, []phonebooth.TaskID{"t5"}},
	} {
		var got []phonebooth.TaskID
		for _, v := range must[store.TaskPage](t)(st.Tasks(t.Context(), c.filter)).Tasks {
			got = append(got, v.ID)
		}
		same(t, c.name, got, c.want)
	}
}

func leaseExpiry(t *testing.T, st store.Store) {
	pool(t, st)
	p := placed(task("t1", 1), device("d1", "h1"))
	mustPut(t, st, p)
	expires := p.Attempts[0].ExpiresAt
	check := func(want time.Time) {
		t.Helper()
		same(t, "one task", must[phonebooth.Task](t)(st.Task(t.Context(), "t1")).LeaseExpiresAt, want)
		listed := must[store.TaskPage](t)(st.Tasks(t.Context(), store.TaskFilter{Before: 2})).Tasks
		same(t, "a listed task", listed[0].LeaseExpiresAt, want)
	}
	check(expires)
	p.Attempts[0] = ended(p.Attempts[0])
	mustPut(t, st, lifecycle.Change{Attempts: p.Attempts, Release: []phonebooth.DeviceID{"d1"}})
	check(time.Time{})
}

func attemptsFound(t *testing.T, st store.Store) {
	pool(t, st)
	ctx := t.Context()
	first := placed(task("t1", 1), device("d1", "h1"))
	mustPut(t, st, first)
	old := ended(first.Attempts[0])
	second := placed(first.Tasks[0], device("d2", "h1"))
	second.Attempts, second.Release = append(second.Attempts, old), []phonebooth.DeviceID{"d1"}
	mustPut(t, st, second)
	live := second.Attempts[0]
	same(t, "attempts", must[[]phonebooth.Attempt](t)(st.Attempts(ctx, "t1")), []phonebooth.Attempt{old, live})
	same(t, "by an ended lease", must[phonebooth.Attempt](t)(st.AttemptOfLease(ctx, old.LeaseID)), old)
	same(t, "by a live lease", must[phonebooth.Attempt](t)(st.AttemptOfLease(ctx, live.LeaseID)), live)
	same(t, "on a device", must[phonebooth.Attempt](t)(st.AttemptOnDevice(ctx, "d2")), live)
	_, err := st.AttemptOnDevice(ctx, "d1")
	wantError(t, "on a device that was released", err, store.ErrNotFound)
	same(t, "live ones", must[[]phonebooth.Attempt](t)(st.LiveAttempts(ctx, "h1")), []phonebooth.Attempt{live})
	same(t, "live ones of another host", len(must[[]phonebooth.Attempt](t)(st.LiveAttempts(ctx, "h2"))), 0)
}

func poolListed(t *testing.T, st store.Store) {
	ctx := t.Context()
	young, old, removed := host("h1"), host("h2"), host("h3")
	young.RegisteredAt, young.TokenHash = after(time.Second), "hash"
	removed.RegisteredAt, removed.TokenHash, removed.RemovedAt = after(-time.Second), "hash", base
	late := device("d1", "h1")
	late.RegisteredAt = after(time.Second)
	mustPut(t, st, lifecycle.Change{
		Hosts: []phonebooth.Host{young, old, removed}, Devices: []phonebooth.Device{late, device("d2", "h1")},
	})
	same(t, "hosts", must[[]phonebooth.Host](t)(st.Hosts(ctx)), []phonebooth.Host{removed, old, young})
	same(t, "host", must[phonebooth.Host](t)(st.Host(ctx, "h2")), old)
	same(t, "host of a token", must[phonebooth.Host](t)(st.HostOfToken(ctx, "hash")), young)
	same(t, "devices", must[[]phonebooth.Device](t)(st.Devices(ctx)), []phonebooth.Device{device("d2", "h1"), late})
	same(t, "device", must[phonebooth.Device](t)(st.Device(ctx, "d1")), late)
	young.RemovedAt = base
	mustPut(t, st, lifecycle.Change{Hosts: []phonebooth.Host{young}})
	if h := must[phonebooth.Host](t)(st.HostOfToken(ctx, "hash")); h.RemovedAt.IsZero() {
		t.Errorf("the token of removed hosts gives %v", h.ID)
	}
}

func workflowsListed(t *testing.T, st store.Store) {
	ctx := t.Context()
	mustPut(t, st, lifecycle.Change{Workflows: []phonebooth.Workflow{flow("b", 1), flow("b", 2), flow("a", 1)}})
	same(t, "newest ones", must[[]phonebooth.Workflow](t)(st.Workflows(ctx)), []phonebooth.Workflow{flow("a", 1), flow("b", 2)})
	same(t, "the newest", must[phonebooth.Workflow](t)(st.Workflow(ctx, "b", 0)), flow("b", 2))
	same(t, "an older one", must[phonebooth.Workflow](t)(st.Workflow(ctx, "b", 1)), flow("b", 1))
	_, err := st.Workflow(ctx, "b", 3)
	wantError(t, "a version that is not there", err, store.ErrNotFound)
	wantError(t, "a version that is there", put(t, st, lifecycle.Change{Workflows: []phonebooth.Workflow{flow("b", 2)}}), store.ErrConstraint)
}

func eventsFiltered(t *testing.T, st store.Store) {
	pool(t, st) // 1, 2, 3
	mustPut(t, st, placed(task("t1", 1), device("d1", "h1")))
	mustPut(t, st, lifecycle.Change{Events: []phonebooth.Event{{Kind: phonebooth.HostSilent, HostID: "h1"}}})
	for _, c := range []struct {
		name   string
		filter store.EventFilter
		want   []int64
	}{
		{"all", store.EventFilter{}, []int64{1, 2, 3, 4, 5}},
		{"after", store.EventFilter{After: 3}, []int64{4, 5}},
		{"some", store.EventFilter{After: 1, Limit: 2}, []int64{2, 3}},
		{"of a task", store.EventFilter{TaskID: "t1"}, []int64{1, 4}},
		{"of a device", store.EventFilter{DeviceID: "d1"}, []int64{4}},
		{"of a host", store.EventFilter{HostID: "h1"}, []int64{4, 5}},
		{"of a kind", store.EventFilter{Kinds: []phonebooth.EventKind{phonebooth.TaskSubmitted}, After: 1}, []int64{2, 3}},
	} {
		var got []int64
		for _, e := range must[[]phonebooth.Event](t)(st.Events(t.Context(), c.filter)) {
			got = append(got, e.Pos)
		}
		same(t, c.name, got, c.want)
	}
}

func tokensSpentOnce(t *testing.T, st store.Store) {
	ctx := t.Context()
	want := store.Token{Hash: "x", Kind: "enrollment", Name: "rack", ExpiresAt: after(time.Hour), CreatedAt: base}
	for range 2 {
		if err := st.PutToken(ctx, want); err != nil {
			t.Fatalf("put: %v", err)
		}
	}
	same(t, "token", must[store.Token](t)(st.Token(ctx, "x")), want)
	// Several hosts want it at once: one wins, and may repeat.
	results := make(chan error)
	for i := range 4 {
		go func() { results <- st.SpendToken(context.WithoutCancel(ctx), "x", phonebooth.HostID(rune('a'+i))) }()
	}
	won := 0
	for range 4 {
		if err := <-results; err == nil {
			won++
		} else {
			wantError(t, "a second host", err, store.ErrConstraint)
		}
	}
	if won != 1 {
		t.Errorf("%d hosts got one token", won)
	}
	winner := must[store.Token](t)(st.Token(ctx, "x")).SpentBy
	if err := st.SpendToken(ctx, "x", winner); err != nil {
		t.Errorf("the winner again: %v", err)
	}
	if err := st.PutToken(ctx, want); err != nil {
		t.Fatalf("put: %v", err)
	}
	if got := must[store.Token](t)(st.Token(ctx, "x")).SpentBy; got != winner {
		t.Errorf("putting it again made its host %q, want %q", got, winner)
	}
}
