package webui_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
	"github.com/phonebooth-dev/phonebooth/internal/auth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/server"
	"github.com/phonebooth-dev/phonebooth/internal/store"
	"github.com/phonebooth-dev/phonebooth/internal/store/sqlstore"
	"github.com/phonebooth-dev/phonebooth/strategy/builtin"
)

// world is a control plane whose past was written into its database: hours of it, in a moment.
type world struct {
	t      *testing.T
	url    string
	token  string
	client *client.Client
	hosts  []phonebooth.Host
}

// past is what a world begins with. Rows are as they are now; events are in any order and get their positions by their times.
type past struct {
	hosts     []phonebooth.Host
	devices   []phonebooth.Device
	tasks     []phonebooth.Task // those with a Seq of 0 get that of their task.submitted event
	attempts  []phonebooth.Attempt
	reserve   []phonebooth.Reservation
	workflows []phonebooth.Workflow
	events    []phonebooth.Event
}

const hostSecret = "secret-of-the-host-" // and its id

// begin writes the past and runs a control plane on it, until the test ends. Nothing ends by time in it.
func begin(t *testing.T, p past) *world {
	t.Helper()
	dir := t.TempDir()
	p.write(t, filepath.Join(dir, "phonebooth.db"))
	srv, err := server.Open(t.Context(), server.Config{
		Data: dir, Listen: "127.0.0.1:0", Strategies: builtin.Registry(), Strategy: builtin.Default, NoSweep: true, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatalf("open the server: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- srv.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("server: %v", err)
		}
		if err := srv.Close(); err != nil {
			t.Errorf("close the server: %v", err)
		}
	})
	c, err := client.New(srv.URL(), srv.AdminToken(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, url: srv.URL(), token: srv.AdminToken(), client: c, hosts: p.hosts}
}

// agent speaks for a host.
func (w *world) agent(host phonebooth.HostID) *client.Agent {
	w.t.Helper()
	c, err := client.New(w.url, hostSecret+string(host), client.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	return c.Agent(string(host))
}

// keep renews leases until the test ends, as agents do.
func (w *world) keep(attempts []phonebooth.Attempt) {
	leases := map[phonebooth.HostID][]string{}
	for _, a := range attempts {
		if a.State == phonebooth.AttemptDispatched {
			leases[a.HostID] = append(leases[a.HostID], string(a.LeaseID))
		}
	}
	ctx, done := w.t.Context(), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Second)
		defer tick.Stop()
		for ctx.Err() == nil {
			for host, ids := range leases {
				_, _ = w.agent(host).Renew(ctx, v1.RenewalRequest{Incarnation: 1, LeaseIDs: ids})
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}()
	w.t.Cleanup(func() { <-done })
}

func (p *past) write(t *testing.T, database string) {
	t.Helper()
	st, err := sqlstore.Open(t.Context(), database, sqlstore.Options{})
	if err != nil {
		t.Fatalf("open the database: %v", err)
	}
	defer st.Close()
	slices.SortStableFunc(p.events, func(a, b phonebooth.Event) int { return a.At.Compare(b.At) })
	seqs := map[phonebooth.TaskID]int64{}
	for i := range p.events {
		p.events[i].Pos = int64(i + 1)
		if p.events[i].Kind == phonebooth.TaskSubmitted {
			seqs[p.events[i].TaskID] = int64(i + 1)
		}
	}
	queued := 0
	for i := range p.tasks {
		p.tasks[i].Seq, p.tasks[i].Rev = seqs[p.tasks[i].ID], 1
		if p.tasks[i].Status == phonebooth.Queued {
			queued++
		}
	}
	for i, h := range p.hosts {
		p.hosts[i].TokenHash, p.hosts[i].Incarnation, p.hosts[i].Rev = auth.Hash(hostSecret+string(h.ID)), 1, 1
	}
	put := func(change lifecycle.Change) {
		err := st.Write(t.Context(), func(tx store.Tx) error {
			if _, err := tx.Load(t.Context(), store.Keys{}); err != nil {
				return err
			}
			head, err := tx.Head(t.Context())
			if err != nil {
				return err
			}
			head.Queued, head.Now = queued, time.Now()
			if n := len(change.Events); n > 0 {
				head.Pos = change.Events[n-1].Pos
			}
			return tx.Save(t.Context(), change, &head)
		})
		if err != nil {
			t.Fatalf("write the past: %v", err)
		}
	}
	put(lifecycle.Change{Hosts: p.hosts, Devices: p.devices, Workflows: p.workflows})
	for tasks := range slices.Chunk(p.tasks, 1000) {
		put(lifecycle.Change{Tasks: tasks})
	}
	for attempts := range slices.Chunk(p.attempts, 1000) {
		put(lifecycle.Change{Attempts: attempts})
	}
	put(lifecycle.Change{Reserve: p.reserve})
	for events := range slices.Chunk(p.events, 1000) {
		put(lifecycle.Change{Events: events})
	}
}
