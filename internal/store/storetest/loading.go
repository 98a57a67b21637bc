package storetest

import (
	"sync"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

func loadNamed(t *testing.T, st store.Store) {
	pool(t, st)
	p := placed(task("t1", 1), device("d1", "h1"))
	mustPut(t, st, p)
	a := p.Attempts[0].AttemptKey
	got := load(t, st, store.Keys{
		Hosts: []phonebooth.HostID{"h2", "h1", "h1", "h7"}, Devices: []phonebooth.DeviceID{"d1", "d3", "d7"},
		Tasks: []phonebooth.TaskID{"t1", "t7"}, Attempts: []phonebooth.AttemptKey{a, {TaskID: "t1", Number: 7}, {TaskID: "t2", Number: 1}},
	})
	want := store.NewRows()
	want.Hosts["h1"], want.Hosts["h2"] = host("h1"), host("h2")
	want.Devices["d1"], want.Devices["d3"] = device("d1", "h1"), device("d3", "h2")
	want.Tasks["t1"] = p.Tasks[0]
	want.Attempts[a] = p.Attempts[0]
	want.Reservations["d1"] = p.Reserve[0]
	same(t, "rows", got, want)
	same(t, "rows of no keys", load(t, st, store.Keys{}), store.NewRows())
}

func loadOfHosts(t *testing.T, st store.Store) {
	pool(t, st)
	first := placed(task("t1", 1), device("d1", "h1"))
	mustPut(t, st, first)
	again := placed(first.Tasks[0], device("d2", "h1"))
	again.Attempts = append(again.Attempts, ended(first.Attempts[0]))
	again.Release = []phonebooth.DeviceID{"d1"}
	mustPut(t, st, again)
	other := placed(task("t2", 2), device("d3", "h2"))
	mustPut(t, st, other)

	want := store.NewRows()
	want.Hosts["h1"] = host("h1")
	want.Devices["d2"] = device("d2", "h1")
	want.Tasks["t1"] = again.Tasks[0]
	want.Attempts[again.Attempts[0].AttemptKey] = again.Attempts[0]
	want.Reservations["d2"] = again.Reserve[0]
	same(t, "live attempts of h1 and what they hold", load(t, st, store.Keys{HostAttempts: []phonebooth.HostID{"h1"}}), want)

	want = store.NewRows()
	want.Hosts["h1"] = host("h1")
	want.Devices["d1"], want.Devices["d2"] = device("d1", "h1"), device("d2", "h1")
	want.Reservations["d2"] = again.Reserve[0]
	same(t, "devices of h1", load(t, st, store.Keys{HostDevices: []phonebooth.HostID{"h1"}}), want)

	both := load(t, st, store.Keys{
		HostDevices: []phonebooth.HostID{"h1"}, HostAttempts: []phonebooth.HostID{"h2"}, Tasks: []phonebooth.TaskID{"t3"},
		Attempts: []phonebooth.AttemptKey{first.Attempts[0].AttemptKey},
	})
	want.Hosts["h2"] = host("h2")
	want.Devices["d3"] = device("d3", "h2")
	want.Tasks["t2"], want.Tasks["t3"] = other.Tasks[0], task("t3", 3)
	want.Attempts[first.Attempts[0].AttemptKey] = ended(first.Attempts[0])
	want.Attempts[other.Attempts[0].AttemptKey] = other.Attempts[0]
	want.Reservations["d3"] = other.Reserve[0]
	same(t, "both, and more", both, want)
}

// loadWaits asks for a host's attempts while another transaction holds the host's lock and places a task on it.
func loadWaits(t *testing.T, st store.Store) {
	pool(t, st)
	p := placed(task("t1", 1), device("d1", "h1"))
	locked, loaded := make(chan struct{}), make(chan *store.Rows, 1)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	waiting.Go(func() {
		defer close(loaded)
		<-locked
		err := st.Write(t.Context(), func(tx store.Tx) error {
			rows, err := tx.Load(t.Context(), store.Keys{HostAttempts: []phonebooth.HostID{"h1"}})
			loaded <- rows
			return err
		})
		if err != nil {
			t.Errorf("load: %v", err)
		}
	})
	err := st.Write(t.Context(), func(tx store.Tx) error {
		keys := keysOf(p)
		keys.Hosts, keys.Devices = []phonebooth.HostID{"h1"}, []phonebooth.DeviceID{"d1"}
		if _, err := tx.Load(t.Context(), keys); err != nil {
			return err
		}
		close(locked)
		head, err := tx.Head(t.Context())
		if err != nil {
			return err
		}
		select {
		case <-loaded:
			t.Error("the second transaction did not wait for the host")
		case <-time.After(50 * time.Millisecond): // gives it the time to come to the lock; it passes without, too
		}
		head.Pos++
		head.Queued--
		p.Events[0].Pos = head.Pos
		return tx.Save(t.Context(), p, &head)
	})
	if err != nil {
		t.Fatalf("place: %v", err)
	}
	l, ok := (<-loaded).Live(p.Attempts[0].AttemptKey)
	if !ok || l.Task.Status != phonebooth.Assigned || l.Device.ID != "d1" {
		t.Errorf("the attempt that was placed meanwhile: %v, %v", l, ok)
	}
}

func loadGuarded(t *testing.T, st store.Store) {
	pool(t, st)
	change := lifecycle.Change{}
	for i, key := range []string{"k1", "k2"} {
		v := task(phonebooth.TaskID("t"+key), int64(4+i))
		v.Submission = phonebooth.Submission{Subject: "admin", IdempotencyKey: key}
		change.Tasks, change.Events = append(change.Tasks, v), append(change.Events, submitted(v))
	}
	for version := 1; version <= 3; version++ {
		change.Workflows = append(change.Workflows, flow("login", version), flow("other", version))
	}
	mustPut(t, st, change)
	a := placed(task("t1", 1), device("d1", "h1"))
	a.Attempts[0].ClaimID = "c1"
	mustPut(t, st, a)
	b := placed(task("t2", 2), device("d2", "h1"))
	b.Attempts[0].ClaimID = "c1"
	b.Attempts[0] = ended(b.Attempts[0])
	b.Reserve, b.Tasks = nil, nil
	mustPut(t, st, b)

	one, none := store.IdempotencyKey{Subject: "admin", Key: "k1"}, store.IdempotencyKey{Subject: "somebody", Key: "k1"}
	claim := store.ClaimKey{HostID: "h1", ClaimID: "c1"}
	got := load(t, st, store.Keys{
		Idempotency: []store.IdempotencyKey{one, none}, Workflows: []string{"login", "nothing"},
		Claims: []store.ClaimKey{claim, {HostID: "h2", ClaimID: "c1"}, {HostID: "h1", ClaimID: "c2"}},
	})
	want := store.NewRows()
	want.Idempotency[one] = "tk1"
	want.Workflows["login"] = flow("login", 3)
	want.Claims[claim] = []phonebooth.AttemptKey{{TaskID: "t1", Number: 1}, {TaskID: "t2", Number: 1}}
	same(t, "rows", got, want)
}

func flow(name string, version int) phonebooth.Workflow {
	return phonebooth.Workflow{
		WorkflowRef: phonebooth.WorkflowRef{Name: name, Version: version}, Source: "version: steps/v1", Hash: "h", CreatedAt: base,
	}
}
