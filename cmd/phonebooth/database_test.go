//go:build linux

package main_test

import (
	"testing"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
	"github.com/phonebooth-dev/phonebooth/internal/store/postgrestest"
	"github.com/phonebooth-dev/phonebooth/internal/store/sqlstore"
)

func TestDone4_TwoAgentsAndPostgreSQLSurviveAKillOfEverything(t *testing.T) {
	t.Parallel()
	database := postgrestest.DSN(t)
	b := newBooth(t)
	p := b.server(t, "--database", database)
	hosts := []*host{p.agent(t, "h1", 1), p.agent(t, "h2", 1)}
	p.waitDevices(t, 2)
	var tasks []string
	for i := range 20 {
		task := sim("sleep 1")
		if i == 2 || i == 3 {
			task = by("second") // which run when everything is killed, however slow this machine is
		}
		tasks = append(tasks, p.submit(t, task))
	}
	p.waitRunning(t, tasks[2], 1)
	p.waitRunning(t, tasks[3], 1)
	p.kill()
	for _, h := range hosts {
		h.kill()
	}
	eventually(t, "no runner without its agent", func() bool { return len(b.processes()) == 0 })
	p.restart(t)
	for _, h := range hosts {
		h.restart(t, p)
	}
	on := map[string]int{}
	for i, id := range tasks {
		task := p.waitStatus(t, id, "done")
		on[task.HostID]++
		if want := map[bool]int{true: 2, false: 1}[i == 2 || i == 3]; task.Attempt != want {
			t.Errorf("task %d is done in attempt %d, want %d", i, task.Attempt, want)
		}
		for _, a := range p.attempts(t, id) {
			if a.Ending == "" {
				t.Errorf("task %s attempt %d has no ending", id, a.Number)
			}
		}
	}
	if on[hosts[0].id] == 0 || on[hosts[1].id] == 0 || len(on) != 2 {
		t.Errorf("tasks done by host: %v, want both", on)
	}
	p.waitDevices(t, 2)
}

func TestDone4_AHostActsForItselfAlone(t *testing.T) {
	t.Parallel()
	database := postgrestest.DSN(t)
	b := newBooth(t)
	p := b.server(t, "--database", database)
	first := p.agent(t, "h1", 1)
	p.waitDevices(t, 1)
	id := p.submit(t, sim("hang"))
	before := p.waitRunning(t, id, 1)
	second := p.agent(t, "h2", 1)
	p.waitDevices(t, 1)

	// With the second host's token, as the first one.
	secret := one[struct{ Secret string }](t, read(t, second.data+"/identity.json")).Secret
	c, err := client.New(p.url, secret, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	thief := c.Agent(first.id)
	if _, err := thief.Claim(t.Context(), v1.ClaimRequest{Incarnation: 1, ClaimID: "claim-stolen", Max: 1}); phonebooth.CodeOf(err) != "wrong_host" {
		t.Errorf("claim as another host: %v, want wrong_host", err)
	}
	lease := p.leaseOf(t, id)
	own := c.Agent("")
	if _, err := own.Report(t.Context(), v1.ReportRequest{Incarnation: 1, Seq: 1000, LeaseID: lease, Outcome: "done"}); phonebooth.CodeOf(err) != "lease_unknown" {
		t.Errorf("report of another host's lease: %v, want lease_unknown", err)
	}
	if r, err := own.Renew(t.Context(), v1.RenewalRequest{Incarnation: 1, LeaseIDs: []string{lease}}); err != nil || r.Leases[0].Lost != "unknown" {
		t.Errorf("renewal of another host's lease: %+v, %v, want it lost as unknown", r, err)
	}
	if _, err := own.AppendLog(t.Context(), lease, v1.LogRunner, 0, []byte("lies")); phonebooth.CodeOf(err) != "lease_unknown" {
		t.Errorf("log of another host's lease: %v, want lease_unknown", err)
	}
	after := p.task(t, id)
	if after.Status != "dispatched" || after.Attempt != 1 || after.HostID != before.HostID || len(b.runnersOf(id)) != 1 {
		t.Errorf("the task is now %+v, want it untouched", after)
	}
	if log := b.run(t, "task", "log", id); log != "" {
		t.Errorf("the log is %q, want it empty", log)
	}
	b.run(t, "task", "cancel", id)
	p.waitStatus(t, id, "cancelled")
}

// leaseOf looks up the lease of a task's first attempt where no caller of the API can: in the database.
func (p *plane) leaseOf(t testing.TB, id string) string {
	t.Helper()
	st, err := sqlstore.Open(t.Context(), p.database, sqlstore.Options{})
	if err != nil {
		t.Fatalf("open the database: %v", err)
	}
	defer st.Close()
	attempts, err := st.Attempts(t.Context(), phonebooth.TaskID(id))
	if err != nil || len(attempts) == 0 {
		t.Fatalf("attempts %v: %v", attempts, err)
	}
	return string(attempts[0].LeaseID)
}
