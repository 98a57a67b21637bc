//go:build linux

package main_test

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// BenchmarkSubmitToStart measures an idle `dev --sim 2`: from the moment before a client's call to the moment that the
// runner, which is the program date, prints as the first thing it does. Both moments are this machine's wall clock. The next
// task is submitted when both devices are ready again.
//
//	go test ./cmd/phonebooth -run '^$' -bench SubmitToStart -benchtime 200x
func BenchmarkSubmitToStart(b *testing.B) {
	world := newBooth(b)
	p := world.dev(b, "--sim", "2", "--adb", "off", "--config", world.write(b, "dev.yaml", "runners: [{name: date, argv: [date, +%s%N]}]"))
	task := v1.TaskRequest{Goal: "what time is it?", Constraints: v1.Constraints{Runner: "date"}}
	var took []time.Duration
	for b.Loop() {
		p.waitDevices(b, 2)
		before := time.Now()
		id := p.submit(b, task)
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
