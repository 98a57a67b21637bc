//go:build linux

package main_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth/client"
	"github.com/phonebooth-dev/phonebooth/internal/store/postgrestest"
)

// replica starts another control plane on p's database, with p's admin token and a directory of its own.
func (p *plane) replica(t testing.TB) *plane {
	t.Helper()
	r := &plane{booth: p.booth, data: p.path("replica"), database: p.database, address: freeAddress(t), token: p.token}
	r.args = []string{
		"server", "--data", r.data, "--listen", r.address, "--log-format", "text",
		"--database", p.database, "--admin-token-file", filepath.Join(p.data, "admin.token"),
	}
	r.restart(t)
	var err error
	if r.client, err = client.New(r.url, r.token, client.Options{Patience: patience}); err != nil {
		t.Fatal(err)
	}
	return r
}

// The leader is killed under running tasks and a queue; the hosts talk to the other replica. Nothing is lost, no attempt is
// burnt, and the other one goes on when the time of the dead one is over.
func TestALeaderThatIsKilledIsFollowed(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	leader := b.server(t, "--database", postgrestest.DSN(t))
	follower := leader.replica(t)
	const devices, queued = 4, 12
	for _, name := range []string{"h1", "h2"} {
		follower.agent(t, name, devices/2)
	}
	follower.waitDevices(t, devices)
	var tasks []string
	for range devices {
		tasks = append(tasks, leader.submit(t, by("gate")))
	}
	for _, id := range tasks {
		follower.waitRunning(t, id, 1)
	}
	for range queued {
		tasks = append(tasks, leader.submit(t, sim("echo over")))
	}
	leader.kill()
	killed := time.Now()
	b.openGate(t)
	var first time.Time
	for i, id := range tasks {
		task := follower.waitStatus(t, id, "done")
		if task.Attempt != 1 {
			t.Errorf("task %d is done in attempt %d, want its first", i, task.Attempt)
		}
		if at := *task.AssignedAt; i >= devices && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	t.Logf("the first assignment came %v after the kill", first.Sub(killed).Round(time.Millisecond))
}
