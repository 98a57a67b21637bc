package scheduler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
	"github.com/phonebooth-dev/phonebooth/strategy"
	"github.com/phonebooth-dev/phonebooth/strategy/fifomatch"
)

// world is store and ledger in one, in memory: it decides with lifecycle, keeps rows, numbers events, and tells of commits
// in their order before it answers.
type world struct {
	mu      sync.Mutex
	rows    *store.Rows
	pos     int64
	now     time.Time
	policy  lifecycle.Policy
	tell    func(lifecycle.Change)
	verdict func(lifecycle.Placement) error // asked first when set
	down    error                           // what every read answers when set
	placed  []lifecycle.Placement
	calls   int // of Place
	reads   int // of Task
}

func newWorld() *world {
	return &world{
		rows: store.NewRows(), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), policy: lifecycle.NewPolicy(30 * time.Second),
		tell: func(lifecycle.Change) {},
	}
}

// with changes or looks at w while nobody else does.
func (w *world) with(fn func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fn()
}

// counts are how often Place and Task were called.
func (w *world) counts() (calls, reads int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls, w.reads
}

// commit writes c and tells of it.
func (w *world) commit(c lifecycle.Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.write(c)
}

func (w *world) write(c lifecycle.Change) {
	for i := range c.Events {
		w.pos++
		c.Events[i].Pos = w.pos
		if c.Events[i].Kind == phonebooth.TaskSubmitted {
			at := slices.IndexFunc(c.Tasks, func(t phonebooth.Task) bool { return t.ID == c.Events[i].TaskID })
			c.Tasks[at].Seq = w.pos
		}
	}
	for _, h := range c.Hosts {
		w.rows.Hosts[h.ID] = h
	}
	for _, d := range c.Devices {
		w.rows.Devices[d.ID] = d
	}
	for _, t := range c.Tasks {
		w.rows.Tasks[t.ID] = t
	}
	for _, a := range c.Attempts {
		w.rows.Attempts[a.AttemptKey] = a
	}
	for _, id := range c.Release {
		delete(w.rows.Reservations, id)
	}
	for _, r := range c.Reserve {
		w.rows.Reservations[r.DeviceID] = r
	}
	w.tell(c)
}

func (w *world) Place(_ context.Context, placements []lifecycle.Placement) []error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	errs := make([]error, len(placements))
	for i, p := range placements {
		if w.verdict != nil {
			if errs[i] = w.verdict(p); errs[i] != nil {
				continue
			}
		}
		c, err := lifecycle.Place(p, w.rows.Hosts[p.HostID], w.rows.Devices[p.DeviceID], w.rows.Reservation(p.DeviceID),
			w.rows.Tasks[p.TaskID], w.policy, w.now)
		if errs[i] = err; err == nil {
			w.placed = append(w.placed, p)
			w.write(c)
		}
	}
	return errs
}

func (w *world) Snapshot(context.Context) (store.Snapshot, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := store.Snapshot{Pos: w.pos, Failed: map[phonebooth.TaskID][]phonebooth.DeviceID{}}
	for _, t := range w.rows.Tasks {
		if t.Status == phonebooth.Queued {
			s.Tasks = append(s.Tasks, t)
		}
	}
	for _, a := range w.rows.Attempts {
		if w.rows.Tasks[a.TaskID].Status == phonebooth.Queued {
			s.Failed[a.TaskID] = append(s.Failed[a.TaskID], a.DeviceID)
		}
	}
	for _, d := range w.rows.Devices {
		s.Devices = append(s.Devices, d)
	}
	for _, h := range w.rows.Hosts {
		s.Hosts = append(s.Hosts, h)
	}
	for _, r := range w.rows.Reservations {
		s.Reservations = append(s.Reservations, r)
	}
	return s, w.down
}

func (w *world) Head(context.Context) (store.Head, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return store.Head{Pos: w.pos}, w.down
}

func (w *world) Task(_ context.Context, id phonebooth.TaskID) (phonebooth.Task, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads++
	return row(w.rows.Tasks, id, w.down)
}

func (w *world) Device(_ context.Context, id phonebooth.DeviceID) (phonebooth.Device, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return row(w.rows.Devices, id, w.down)
}

func (w *world) Host(_ context.Context, id phonebooth.HostID) (phonebooth.Host, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return row(w.rows.Hosts, id, w.down)
}

func (w *world) AttemptOnDevice(_ context.Context, id phonebooth.DeviceID) (phonebooth.Attempt, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := row(w.rows.Reservations, id, w.down)
	return w.rows.Attempts[r.Attempt], err
}

func (w *world) Attempts(_ context.Context, id phonebooth.TaskID) ([]phonebooth.Attempt, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []phonebooth.Attempt
	for _, a := range w.rows.Attempts {
		if a.TaskID == id {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b phonebooth.Attempt) int { return a.Number - b.Number })
	return all, w.down
}

func row[K comparable, V any](rows map[K]V, id K, down error) (V, error) {
	v, ok := rows[id]
	if !ok {
		return v, errors.Join(store.ErrNotFound, down)
	}
	return v, down
}

// submit queues a task whose id is "task_" and name.
func (w *world) submit(name string, spec phonebooth.TaskSpec) phonebooth.TaskID {
	id := phonebooth.TaskID("task_" + name)
	if spec.Goal == "" {
		spec.Goal = "open Settings"
	}
	c, err := lifecycle.Submit(id, spec.WithDefaults(), phonebooth.Submission{}, 0, 1, w.now)
	if err != nil {
		panic(err)
	}
	w.commit(c)
	return id
}

// host adds a host that listens, under the id "host_" and name.
func (w *world) host(name string) phonebooth.HostID {
	id := phonebooth.HostID("host_" + name)
	w.commit(lifecycle.Enroll(id, name, "", w.now))
	c, _, err := lifecycle.Start(w.rows.Hosts[id], "start", 0, false, "", w.now)
	w.must(c, err)
	w.poll(id)
	return id
}

func (w *world) must(c lifecycle.Change, err error) {
	if err != nil {
		panic(err)
	}
	w.commit(c)
}

func (w *world) poll(id phonebooth.HostID) {
	c, err := lifecycle.Poll(w.rows.Hosts[id], w.rows.Hosts[id].Incarnation, w.now)
	w.must(c, err)
}

// sight has the host say what it sees; it says so of every device that it does not see, too.
func (w *world) sight(host phonebooth.HostID, seen ...lifecycle.Sighting) {
	h := w.rows.Hosts[host]
	var known []phonebooth.Device
	for _, d := range w.rows.Devices {
		if d.HostID != host {
			continue
		}
		known = append(known, d)
		for i := range seen {
			if seen[i].Key == d.Key {
				seen[i].Confirm = d.Confirm
			}
		}
	}
	word := phonebooth.Word{Incarnation: h.Incarnation, Seq: h.Word.Seq + 1}
	c, err := lifecycle.Inventory(h, word, seen, known, w.now)
	w.must(c, err)
}

// phone is a ready android device.
func phone(key string, tags ...string) lifecycle.Sighting {
	return lifecycle.Sighting{Key: key, Name: key, DriverType: "android", Tags: tags, Runners: []string{"command"}, Condition: phonebooth.Ready}
}

func (w *world) task(id phonebooth.TaskID) phonebooth.Task {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rows.Tasks[id]
}

func (w *world) live(id phonebooth.TaskID) lifecycle.Live {
	w.mu.Lock()
	defer w.mu.Unlock()
	l, ok := w.rows.Live(phonebooth.AttemptKey{TaskID: id, Number: w.rows.Tasks[id].Attempt})
	if !ok {
		panic(fmt.Sprintf("%s has no attempt", id))
	}
	return l
}

// finish has the host claim the task's attempt, if need be, and report it.
func (w *world) finish(id phonebooth.TaskID, outcome phonebooth.Outcome) {
	l := w.live(id)
	if l.Attempt.State == phonebooth.AttemptAssigned {
		c, err := lifecycle.Claim(l, l.Host.ID, "claim", l.Host.Incarnation, w.policy, w.now)
		w.must(c, err)
		l = w.live(id)
	}
	c, _, err := lifecycle.Finish(l, l.Host.ID, l.Host.Incarnation, phonebooth.Report{Outcome: outcome}, lifecycle.DeviceWord{}, w.policy, w.now)
	w.must(c, err)
}

// start runs a scheduler over w until the test ends.
func start(t *testing.T, w *world, s strategy.Strategy, opts Options) *Scheduler {
	t.Helper()
	if opts.Log == nil {
		opts.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if opts.OnDifference == nil {
		opts.OnDifference = func(n int) { t.Errorf("%d rows of the index were not as in the store", n) }
	}
	sched := New(w, w.Place, s, "test", opts)
	w.with(func() { w.tell = sched.Apply })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- sched.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v, want %v", err, context.Canceled)
		}
	})
	return sched
}

func startFIFO(t *testing.T, w *world) *Scheduler { return start(t, w, fifomatch.New(), Options{}) }

func idle(t *testing.T, s *Scheduler) {
	t.Helper()
	if err := s.Idle(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// wantStatus checks where tasks stand, and that the index agrees with the store.
func wantStatus(t *testing.T, w *world, want map[phonebooth.TaskID]phonebooth.Status) {
	t.Helper()
	for id, status := range want {
		if got := w.task(id).Status; got != status {
			t.Errorf("%s is %s, want %s", id, got, status)
		}
	}
}

func numbered(name string, i int) string { return name + strconv.Itoa(i) }
