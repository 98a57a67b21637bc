//go:build linux

package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
	"github.com/phonebooth-dev/phonebooth/internal/store/sqlstore"
)

func TestC10_ACopyOfAnAgentIsRefusedOrTakesOverForGood(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	p := b.server(t, "--lease-ttl", shortLease)
	original := p.agent(t, "h1", 1)
	id := p.submit(t, sim("ignore-signals; hang"))
	p.waitRunning(t, id, 1)
	copied := original.copyTo(t, b.path("copy"))
	original.kill()
	original.restart(t, p) // with a memory that the copy has not
	p.waitRunning(t, id, 2)

	refused := b.start(t, copied.args...)
	if code := refused.exit(t); code != 4 || !strings.Contains(refused.said(), "--take-over") {
		t.Errorf("the copy exits %d, want 4 and a word on --take-over:\n%s", code, refused.said())
	}
	if task := p.task(t, id); task.Status != "dispatched" || task.Attempt != 2 || original.ended() {
		t.Fatalf("the refused copy has changed the task to %+v, or ended the other agent", task)
	}

	copied.restart(t, p, "--take-over")
	if code := original.exit(t); code != 4 {
		t.Errorf("the older agent exits %d, want 4:\n%s", code, original.said())
	}
	if left := b.runnersIn(id, 2); len(left) > 0 {
		t.Errorf("the older agent has exited and left %v", left)
	}
	again := b.start(t, original.args...)
	if code := again.exit(t); code != 4 {
		t.Errorf("the older agent, started again, exits %d, want 4: they never take turns", code)
	}
	p.waitRunning(t, id, 3)
	if copied.ended() {
		t.Errorf("the agent that took over has ended:\n%s", copied.said())
	}
	b.run(t, "task", "cancel", id)
	p.waitStatus(t, id, "cancelled")
}

// copyTo makes a copy of an agent's data directory, and the agent that would run there.
func (h *host) copyTo(t *testing.T, data string) *host {
	t.Helper()
	if err := os.CopyFS(data, os.DirFS(h.data)); err != nil {
		t.Fatal(err)
	}
	copied := &host{data: data, args: slices.Clone(h.args)}
	copied.args[slices.Index(copied.args, h.data)] = data
	return copied
}

func TestC10_WhoTakesOverDoesNotGiveBackWhatAnotherStillDrives(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	p := b.server(t, "--lease-ttl", shortLease)
	original := p.agent(t, "h1", 1)
	p.waitDevices(t, 1)
	copied := original.copyTo(t, b.path("copy")) // its memory is the newest, its journal knows no attempt
	id := p.submit(t, sim("ignore-signals; hang"))
	p.waitRunning(t, id, 1)
	original.signal(t, syscall.SIGSTOP) // nobody can tell it that it was replaced

	copied.restart(t, p, "--take-over")
	dead := b.waitDead(t, id, 1)
	p.waitRunning(t, id, 2)
	first := p.attempts(t, id)[0]
	if first.Ending != "expired" || !dead.Before(*first.EndedAt) {
		t.Errorf("attempt 1 ended as %q at %v, its runner was dead at %v; want it expired after that", first.Ending, first.EndedAt, dead)
	}
	original.signal(t, syscall.SIGCONT)
	if code := original.exit(t); code != 4 {
		t.Errorf("the older agent exits %d, want 4:\n%s", code, original.said())
	}
	b.run(t, "task", "cancel", id)
	p.waitStatus(t, id, "cancelled")
}

func TestADataDirectoryInUseIsRefusedAndUnharmed(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	p := b.server(t)
	h := p.agent(t, "h1", 1)
	id := p.submit(t, by("gate"))
	p.waitRunning(t, id, 1)
	for _, args := range [][]string{
		{"server", "--data", p.data, "--listen", freeAddress(t)},
		{"dev", "--data", p.data, "--listen", freeAddress(t), "--adb", "off", "--sim", "1"},
		h.args,
	} {
		o := b.try(t, args...)
		if o.code != 1 || !strings.Contains(o.stderr, "use") || !strings.Contains(o.stderr, "--data") {
			t.Errorf("%s exits %d, want 1 and what to do: %s", args[0], o.code, o.stderr)
		}
	}
	b.openGate(t)
	if task := p.waitStatus(t, id, "done"); task.Attempt != 1 {
		t.Errorf("done in attempt %d, want 1", task.Attempt)
	}
	if h.ended() || p.ended() {
		t.Error("the processes that had the directories have ended")
	}
}

// TestC41 looks for every secret that there is wherever others could see one.
func TestC41_SecretsShowNowhere(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	telling := b.write(t, "telling.yaml", "runners:\n  - name: env\n    argv: [sh, -c, 'env; cat \"$PHONEBOOTH_INPUT\"; until test -e \"$HOME/gate\"; do sleep 0.1; done']\n")
	p := b.server(t, "--log-level", "debug")
	// A careless operator: the agent has the admin's token in its environment.
	b.env = append(b.env, "PHONEBOOTH_TOKEN="+p.token)
	h := p.agent(t, "h1", 1, "--config", telling, "--log-level", "debug")
	id := p.submit(t, by("env"))
	p.waitRunning(t, id, 1)
	secrets := map[string]string{
		"the admin token":      p.token,
		"the agent's secret":   one[struct{ Secret string }](t, read(t, h.data+"/identity.json")).Secret,
		"the enrollment token": strings.TrimSpace(read(t, b.path("h1.token"))),
		"the lease id":         p.leaseOf(t, id),
	}
	look := func(where, text string) {
		for name, secret := range secrets {
			if secret == "" || strings.Contains(text, secret) {
				t.Errorf("%s shows in %s", name, where)
			}
		}
	}
	for _, s := range b.processes() {
		look("the process list", strings.Join(s.args, " "))
	}
	for _, r := range b.runnersOf(id) {
		look("the environment of a runner", strings.Join(r.env, " "))
	}
	b.openGate(t)
	p.waitStatus(t, id, "done")
	// A report under a lease that has ended is logged, and so is a call with a bad token.
	c, err := client.New(p.url, secrets["the agent's secret"], client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Agent("").Report(t.Context(), v1.ReportRequest{Incarnation: 1, Seq: 1000, LeaseID: secrets["the lease id"], Outcome: "failed"})
	if phonebooth.CodeOf(err) != "report_conflict" {
		t.Errorf("a second report: %v, want report_conflict", err)
	}
	look("a refusal", err.Error())
	o := b.try(t, "task", "list", "--token", "wrong-"+p.token[:8])
	if o.code != 4 {
		t.Errorf("a wrong token exits %d, want 4", o.code)
	}
	look("a refusal", o.stderr)
	for _, verb := range [][]string{{"task", "get", id}, {"task", "get", id, "-o", "json"}, {"task", "attempts", id, "-o", "json"}, {"task", "log", id}, {"host", "list", "-o", "json"}} {
		look(strings.Join(verb, " "), b.run(t, verb...))
	}
	for _, e := range p.events(t, client.EventQuery{}) {
		look("event "+e.Kind, string(encode(t, e)))
	}
	look("the server's log", p.said())
	look("the agent's log", h.said())
	p.kill()
	for name, secret := range secrets {
		if name != "the lease id" && inDatabase(t, p.database, secret) {
			t.Errorf("%s is in the database, want its hash only", name)
		}
	}
}

// inDatabase looks for text in the database, in what was not moved there yet too.
func inDatabase(t testing.TB, path, text string) bool {
	t.Helper()
	st, err := sqlstore.Open(t.Context(), path, sqlstore.Options{}) // it must be readable
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no database at %s: %v", path, err)
	}
	for _, file := range files {
		if strings.Contains(read(t, file), text) {
			return true
		}
	}
	return false
}
