//go:build linux

package main_test

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

// BenchmarkSubmitToStart measures a `dev --sim 8`: from the moment before a client's call to the moment that the runner,
// which is the program date, prints as the first thing it does. Both moments are this machine's wall clock. The next task is
// submitted when its device is ready again. "alone" is nothing else; "crowded" is the same while 200 dashboards are open, which
// follow the record and look at the pool as their page does, and 10,000 tasks an hour run on the other devices.
//
//	go test ./cmd/phonebooth -run '^$' -bench SubmitToStart -benchtime 200x
func BenchmarkSubmitToStart(b *testing.B) {
	world := newBooth(b)
	p := world.dev(b, "--sim", "8", "--adb", "off", "--config", world.write(b, "dev.yaml", "runners: [{name: date, argv: [date, +%s%N]}]"))
	devices := p.waitDevices(b, 8)
	b.Run("alone", func(b *testing.B) { p.submitToStart(b, devices[0].ID) })
	b.Run("crowded", func(b *testing.B) {
		ctx, stop := context.WithCancel(b.Context())
		var crowd sync.WaitGroup
		defer crowd.Wait()
		defer stop()
		var seen, looks atomic.Int64
		for range 200 {
			crowd.Go(func() { p.dashboard(ctx, b, &seen, &looks) })
		}
		var submitted atomic.Int64
		crowd.Go(func() { p.submitAtRate(ctx, b, devices[1:], &submitted) })
		began := time.Now()
		p.submitToStart(b, devices[0].ID)
		took := time.Since(began)
		b.ReportMetric(float64(submitted.Load())*float64(time.Hour/took), "tasks/h")
		b.ReportMetric(float64(seen.Load())/took.Seconds(), "events/s")
		b.ReportMetric(float64(looks.Load())/took.Seconds(), "looks/s")
	})
}

// submitToStart measures on one device.
func (p *plane) submitToStart(b *testing.B, device string) {
	var took []time.Duration
	for b.Loop() {
		eventually(b, device+" to be able", func() bool { return p.device(b, device).Unavailable == "" })
		before := time.Now()
		id := p.submit(b, date(device))
		ended := p.waitStatus(b, id, "done")
		took = append(took, startOf(b, p, id).Sub(before))
		if last := took[len(took)-1]; last > slow {
			b.Logf("%s started after %v: created after %v, assigned after %v, dispatched after %v", id, last,
				ended.CreatedAt.Sub(before), ended.AssignedAt.Sub(before), ended.DispatchedAt.Sub(before))
		}
	}
	slices.Sort(took)
	at := func(percent int) float64 {
		return float64(took[(len(took)-1)*percent/100].Microseconds()) / 1000
	}
	b.ReportMetric(0, "ns/op") // which would be that of the polling
	b.ReportMetric(at(50), "p50-ms")
	b.ReportMetric(at(99), "p99-ms")
	b.ReportMetric(at(100), "max-ms")
}

func date(device string) v1.TaskRequest {
	return v1.TaskRequest{Goal: "what time is it?", Constraints: v1.Constraints{Runner: "date", DeviceID: device}}
}

// dashboard is what a page does that shows the pool: it follows the record, and after an event it looks at the pool, every
// 1.5 seconds at most.
func (p *plane) dashboard(ctx context.Context, b *testing.B, seen, looks *atomic.Int64) {
	looked := time.Now()
	for _, err := range p.client.Follow(ctx, client.EventQuery{After: client.OnlyNew}) {
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			b.Errorf("a dashboard: %v", err)
			return
		}
		if seen.Add(1); time.Since(looked) < 1500*time.Millisecond {
			continue
		}
		looked = time.Now()
		if _, err := p.client.Overview(ctx); err != nil && ctx.Err() == nil {
			b.Errorf("a dashboard: %v", err)
		}
		looks.Add(1)
	}
}

// submitAtRate submits 10,000 tasks an hour, to each device in its turn.
func (p *plane) submitAtRate(ctx context.Context, b *testing.B, devices []v1.Device, submitted *atomic.Int64) {
	tick := time.NewTicker(time.Hour / 10_000)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if _, err := p.client.Submit(ctx, date(devices[i%len(devices)].ID)); err != nil && ctx.Err() == nil {
			b.Errorf("submit: %v", err)
		}
		submitted.Add(1)
	}
}

// slow is what is told of in detail.
const slow = 250 * time.Millisecond

// startOf is what the runner wrote.
func startOf(b *testing.B, p *plane, id string) time.Time {
	b.Helper()
	var text []byte
	eventually(b, "the log of "+id, func() bool {
		log, err := p.client.Log(b.Context(), id, 1, v1.LogRunner, 0)
		if err != nil {
			b.Fatal(err)
		}
		defer log.Close()
		text, err = io.ReadAll(log)
		return err == nil && bytes.HasSuffix(text, []byte("\n"))
	})
	ns, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return time.Unix(0, ns)
}
