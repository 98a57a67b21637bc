package server_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/blob"
	"github.com/phonebooth-dev/phonebooth/internal/control"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/scheduler"
	"github.com/phonebooth-dev/phonebooth/internal/store"
	"github.com/phonebooth-dev/phonebooth/internal/store/sqlstore"
	"github.com/phonebooth-dev/phonebooth/strategy/fifomatch"
)

// C18 by the clock: one of 25 devices becomes free, and the next of many queued tasks in 50 lanes is placed on it
// and claimed, each step committed to SQLite. One turn is three commits: report, placement, claim.
func BenchmarkAssignment(b *testing.B) {
	for _, n := range []int{1e3, 1e5, 1e6} {
		b.Run(fmt.Sprintf("queued=%d", n), func(b *testing.B) {
			p := newPlant(b, n)
			for b.Loop() {
				p.turn(b)
			}
		})
	}
}

const (
	plantLanes   = 50
	plantDevices = 25
)

// plant is a control plane without HTTP, with a long queue and one host that is busy.
type plant struct {
	control   *control.Control
	scheduler *scheduler.Scheduler
	host      phonebooth.HostID
	held      []control.Claimed
	claims    int
}

var nobody = control.Caller{Actor: "bench", Subject: "bench"}

func newPlant(b *testing.B, queued int) *plant {
	b.Helper()
	st, err := sqlstore.Open(b.Context(), filepath.Join(b.TempDir(), "phonebooth.db"), sqlstore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	logs, err := blob.Open(b.TempDir(), blob.Options{})
	if err != nil {
		b.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	l := ledger.New(st, ledger.Options{Log: quiet})
	p := &plant{control: control.New(st, l, logs, control.Options{MaxQueueDepth: 2e6})}
	p.scheduler = scheduler.New(st, p.control.Place, fifomatch.New(), fifomatch.Name, scheduler.Options{Log: quiet, CompareEvery: time.Hour})
	l.Subscribe(func(c ledger.Commit) { p.scheduler.Apply(c.Change) })
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = l.Run(ctx) })
	b.Cleanup(func() {
		stop()
		running.Wait()
		if err := st.Close(); err != nil {
			b.Error(err)
		}
	})
	p.fill(b, queued)
	p.enroll(b, l)
	running.Go(func() { _ = p.scheduler.Run(ctx) })
	p.claim(b, plantDevices)
	return p
}

// fill submits the queue, many at once so that commits are large.
func (p *plant) fill(b *testing.B, queued int) {
	b.Helper()
	var wg sync.WaitGroup
	for worker := range 256 {
		wg.Go(func() {
			for i := worker; i < queued+plantDevices; i += 256 {
				spec := phonebooth.TaskSpec{Goal: "x", Constraints: phonebooth.Constraints{Tags: []string{fmt.Sprintf("tag-%d", i%plantLanes)}}}
				if _, _, err := p.control.Submit(b.Context(), nobody, spec.WithDefaults(), "", ""); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// enroll adds the host with its devices, each for two lanes.
func (p *plant) enroll(b *testing.B, l *ledger.Ledger) {
	b.Helper()
	p.host = "host_bench"
	v := ledger.Verb{Name: "enroll", Keys: noKeys, Decide: func(view ledger.View) (lifecycle.Change, error) {
		return lifecycle.Enroll(p.host, "bench", "hash", view.Now), nil
	}}
	if err := l.Do(b.Context(), v); err != nil {
		b.Fatal(err)
	}
	if _, _, err := p.control.Start(b.Context(), nobody, p.host, control.StartRequest{StartID: "start-bench"}); err != nil {
		b.Fatal(err)
	}
	var seen []lifecycle.Sighting
	for i := range plantDevices {
		seen = append(seen, lifecycle.Sighting{
			Key: fmt.Sprint(i), DriverType: "android", Condition: phonebooth.Ready, Runners: []string{"fake"},
			Tags: []string{fmt.Sprintf("tag-%d", i%plantLanes), fmt.Sprintf("tag-%d", (i+1)%plantLanes)},
		})
	}
	if _, err := p.control.Inventory(b.Context(), nobody, p.host, phonebooth.Word{Incarnation: 1, Seq: 1}, seen); err != nil {
		b.Fatal(err)
	}
}

// claim waits until the host holds n more attempts.
func (p *plant) claim(b *testing.B, n int) {
	b.Helper()
	for want := len(p.held) + n; len(p.held) < want; {
		p.claims++
		got, err := p.control.Claim(b.Context(), nobody, p.host, control.ClaimRequest{
			Incarnation: 1, ClaimID: fmt.Sprintf("claim-%d", p.claims), Max: want - len(p.held), Wait: 10 * time.Second,
		})
		if err != nil {
			b.Fatal(err)
		}
		p.held = append(p.held, got.Assignments...)
	}
}

// turn ends the oldest attempt and claims the one that takes its device.
func (p *plant) turn(b *testing.B) {
	b.Helper()
	lease := p.held[0].Attempt.LeaseID
	p.held = p.held[1:]
	report := phonebooth.Report{Outcome: phonebooth.OutcomeDone}
	if _, err := p.control.Report(b.Context(), nobody, p.host, 1, lease, report, lifecycle.DeviceWord{}); err != nil {
		b.Fatal(err)
	}
	p.claim(b, 1)
}

func noKeys(context.Context, store.Reader) (store.Keys, error) { return store.Keys{}, nil }
