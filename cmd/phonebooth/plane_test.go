//go:build linux

package main_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
	"github.com/phonebooth-dev/phonebooth/internal/store/sqlstore"
	"github.com/phonebooth-dev/phonebooth/internal/store/storetest"
)

// plane is a control plane in a process, and a client for what tests look at again and again.
type plane struct {
	*booth
	*process
	args     []string
	address  string
	url      string
	token    string
	data     string
	database string
	client   *client.Client
}

var (
	planeReady     = regexp.MustCompile(`(?m)^phonebooth (?:server|dev): (http://[0-9.:]+)`)
	simdeviceReady = regexp.MustCompile(`attach it with: adb connect (\S+)`)
	agentReady     = regexp.MustCompile(`(?m)^phonebooth agent: (host_\S+) of `)
)

// server starts `phonebooth server` and lets the user know its token.
func (b *booth) server(t testing.TB, flags ...string) *plane {
	t.Helper()
	p := b.plane(t, "server", flags)
	b.user = append(b.user, "PHONEBOOTH_SERVER="+p.url, "PHONEBOOTH_TOKEN="+p.token)
	return p
}

// dev starts `phonebooth dev`; the user knows its token from the configuration file.
func (b *booth) dev(t testing.TB, flags ...string) *plane {
	t.Helper()
	return b.plane(t, "dev", flags)
}

// plane starts a control plane in the world's directory "data". At the end of the test its database is checked.
func (b *booth) plane(t testing.TB, verb string, flags []string) *plane {
	t.Helper()
	p := &plane{booth: b, data: b.path("data"), address: freeAddress(t)}
	p.database = filepath.Join(p.data, "phonebooth.db")
	for i, flag := range flags {
		if flag == "--database" {
			p.database = flags[i+1]
		}
	}
	p.args = append([]string{verb, "--data", p.data, "--listen", p.address, "--log-format", "text"}, flags...)
	t.Cleanup(func() { p.checkInvariants(t) })
	p.restart(t)
	token, err := os.ReadFile(filepath.Join(p.data, "admin.token"))
	if err != nil {
		t.Fatal(err)
	}
	p.token = strings.TrimSpace(string(token))
	if p.client, err = client.New(p.url, p.token, client.Options{Patience: patience}); err != nil {
		t.Fatal(err)
	}
	return p
}

// restart starts the control plane, again if it ended, on the same data and address.
func (p *plane) restart(t testing.TB) {
	t.Helper()
	started := p.booth.start(t, p.args...)
	t.Cleanup(func() {
		if t.Failed() && !started.ended() {
			p.describe(t)
		}
	})
	p.process = started
	p.url = p.expect(t, planeReady)
}

// describe tells where everything stands when a test has failed.
func (p *plane) describe(t testing.TB) {
	t.Helper()
	for _, list := range [][]string{{"task", "list"}, {"device", "list"}, {"host", "list"}} {
		o := p.try(t, append(list, "--server", p.url, "--token", p.token)...)
		t.Logf("%v:\n%s%s", list, o.stdout, o.stderr)
	}
}

func (p *plane) checkInvariants(t testing.TB) {
	t.Helper()
	if p.process != nil {
		p.kill()
	}
	st, err := sqlstore.Open(context.WithoutCancel(t.Context()), p.database, sqlstore.Options{})
	if err != nil {
		t.Errorf("open the database to check it: %v", err)
		return
	}
	defer st.Close()
	storetest.CheckInvariants(t, st)
}

// ownRunners is a host's configuration. The tests that let something run wait with `gate` until a file is there, and with
// `second` until the second attempt, so that no machine is too slow for them.
const ownRunners = `
runners:
  - name: gate
    drivers: [sim]
    argv: [sh, -c, 'echo before; until test -e "$HOME/gate"; do sleep 0.1; done; echo after']
  - name: second
    drivers: [sim]
    argv: [sh, -c, 'if test "$PHONEBOOTH_ATTEMPT" = 1; then trap "" INT TERM HUP; while :; do sleep 1; done; fi; echo over']
    stop: {grace: 500ms, term_grace: 500ms}
  - name: variable
    argv: [sh, -c, 'printf %s "$PHONEBOOTH_GOAL"']
  - name: argument
    argv: [sh, -c, 'shift; printf %s "$1"', sh, --, '{goal}']
  - name: input
    argv: [sh, -c, 'cat "$PHONEBOOTH_INPUT"']
  - name: missing
    argv: [no-such-program-anywhere]
  - name: forks
    argv: [sh, -c, 'trap "" INT TERM HUP; setsid sh -c "trap \"\" INT TERM HUP; while :; do sleep 1; done" & while :; do sleep 1; done']
    stop: {grace: 500ms, term_grace: 500ms}
`

// runners is the path of a configuration with ownRunners.
func (b *booth) runners(t testing.TB) string {
	t.Helper()
	return b.write(t, "runners.yaml", ownRunners)
}

// openGate lets the runners called gate go on.
func (b *booth) openGate(t testing.TB) {
	t.Helper()
	b.write(t, "gate", "")
}

// by is a task for simulated devices that a runner of ownRunners works on.
func by(runner string) v1.TaskRequest {
	task := sim("x")
	task.Constraints.Runner = runner
	return task
}

// sim is a task for simulated devices whose goal is a script.
func sim(script string) v1.TaskRequest {
	return v1.TaskRequest{Goal: script, Constraints: v1.Constraints{DriverType: "sim", Runner: "fake"}}
}

func (p *plane) submit(t testing.TB, r v1.TaskRequest) string {
	t.Helper()
	task, err := p.client.Submit(t.Context(), r)
	if err != nil {
		t.Fatalf("submit %.100q: %v", r.Goal, err)
	}
	return task.ID
}

func (p *plane) task(t testing.TB, id string) v1.Task {
	t.Helper()
	task, err := p.client.Task(t.Context(), id)
	if err != nil {
		t.Fatalf("task %s: %v", id, err)
	}
	return task
}

// wait waits until the task is as wanted. One that has ended in another way fails the test at once.
func (p *plane) wait(t testing.TB, id, what string, want func(v1.Task) bool) (task v1.Task) {
	t.Helper()
	eventually(t, id+" to be "+what, func() bool {
		task = p.task(t, id)
		if !want(task) && task.FinishedAt != nil {
			t.Fatalf("task %s ended as %s %+v, want it %s; its attempts: %+v", id, task.Status, task.Failure, what, p.attempts(t, id))
		}
		return want(task)
	})
	return task
}

// waitStatus waits for a status.
func (p *plane) waitStatus(t testing.TB, id, status string) v1.Task {
	t.Helper()
	return p.wait(t, id, status, func(task v1.Task) bool { return task.Status == status })
}

// waitRunning waits until an attempt's runner is alive.
func (p *plane) waitRunning(t testing.TB, id string, attempt int) v1.Task {
	t.Helper()
	task := p.wait(t, id, "dispatched in attempt "+strconv.Itoa(attempt), func(task v1.Task) bool {
		return task.Status == "dispatched" && task.Attempt == attempt
	})
	eventually(t, "the runner of attempt "+strconv.Itoa(attempt), func() bool { return len(p.runnersIn(id, attempt)) > 0 })
	return task
}

func (p *plane) attempts(t testing.TB, id string) []v1.Attempt {
	t.Helper()
	attempts, err := p.client.Attempts(t.Context(), id)
	if err != nil {
		t.Fatalf("attempts of %s: %v", id, err)
	}
	return attempts
}

// typedAttempts is what `task attempts` says.
func (p *plane) typedAttempts(t testing.TB, id string) []v1.Attempt {
	t.Helper()
	return one[v1.AttemptList](t, p.run(t, "task", "attempts", id, "-o", "json")).Attempts
}

// events lists all events that q chooses.
func (p *plane) events(t testing.TB, q client.EventQuery) (all []v1.Event) {
	t.Helper()
	for {
		page, err := p.client.Events(t.Context(), q)
		if err != nil {
			t.Fatalf("events: %v", err)
		}
		if len(page.Events) == 0 {
			return all
		}
		all, q.After = append(all, page.Events...), page.Next
	}
}

func (p *plane) devices(t testing.TB) []v1.Device {
	t.Helper()
	devices, err := p.client.Devices(t.Context())
	if err != nil {
		t.Fatalf("devices: %v", err)
	}
	return devices
}

// waitDevices waits until n devices can take a task.
func (p *plane) waitDevices(t testing.TB, n int) []v1.Device {
	t.Helper()
	eventually(t, strconv.Itoa(n)+" devices that can take a task", func() bool {
		able := 0
		for _, d := range p.devices(t) {
			if d.Unavailable == "" {
				able++
			}
		}
		return able == n
	})
	return p.devices(t)
}

// host is an agent in a process.
type host struct {
	*process
	args []string
	id   string
	data string
}

// agent makes a host and starts its agent, which offers simulated devices.
func (p *plane) agent(t testing.TB, name string, devices int, flags ...string) *host {
	t.Helper()
	token := p.booth.write(t, name+".token", p.run(t, "host", "enroll", "--name", name))
	h := &host{data: p.booth.path(name)}
	h.args = append([]string{
		"agent", "--server", p.url, "--enroll-file", token, "--name", name, "--data", h.data, "--log-format", "text",
		"--adb", "off", "--sim", strconv.Itoa(devices), "--config", p.booth.runners(t),
	}, flags...)
	h.restart(t, p)
	return h
}

// restart starts the agent, again if it ended.
func (h *host) restart(t testing.TB, p *plane, flags ...string) {
	t.Helper()
	h.process = p.booth.start(t, append(h.args, flags...)...)
	h.id = h.expect(t, agentReady)
}
