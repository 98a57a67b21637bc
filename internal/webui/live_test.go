package webui_test

import (
	"context"
	"log/slog"
	"os"
	"testing"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/bridge/sim"
	"github.com/phonebooth-dev/phonebooth/client"
	"github.com/phonebooth-dev/phonebooth/internal/agent/minder"
	"github.com/phonebooth-dev/phonebooth/internal/playground"
	runners "github.com/phonebooth-dev/phonebooth/runner/builtin"
	"github.com/phonebooth-dev/phonebooth/runner/fake"
	strategies "github.com/phonebooth-dev/phonebooth/strategy/builtin"
)

// TestMain is also the minder and the runner of live pools.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case minder.Verb:
			os.Exit(minder.Main(minder.Options{}))
		case fake.Verb:
			os.Exit(fake.Main())
		}
	}
	os.Exit(m.Run())
}

// alive is a pool that works: a control plane, and a host with simulated devices whose runners are real processes.
type alive struct {
	t      *testing.T
	url    string
	token  string
	client *client.Client
}

// play runs a pool of so many devices until the test ends.
func play(t *testing.T, devices int) *alive {
	t.Helper()
	registry, err := runners.Registry()
	if err != nil {
		t.Fatal(err)
	}
	a := &alive{t: t}
	ctx, stop := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan error, 1)
	dir := t.TempDir()
	go func() {
		ended <- playground.Dev(ctx, playground.Options{
			Data: dir, Listen: "127.0.0.1:0", Strategies: strategies.Registry(), Strategy: strategies.Default, Runners: registry,
			Bridges: map[string]bridge.Bridge{"sim": sim.New(devices)}, HostName: "bench", Log: slog.New(slog.DiscardHandler),
			Ready: func(url, token string) {
				a.url, a.token = url, token
				close(ready)
			},
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the pool ended: %v", err)
		}
	})
	select {
	case <-ready:
	case err := <-ended:
		ended <- err
		t.Fatalf("the pool did not begin: %v", err)
	}
	if a.client, err = client.New(a.url, a.token, client.Options{}); err != nil {
		t.Fatal(err)
	}
	return a
}

// submit submits a goal for a simulated device.
func (a *alive) submit(goal string) v1.Task {
	a.t.Helper()
	task, err := a.client.Submit(a.t.Context(), v1.TaskRequest{Goal: goal, Constraints: v1.Constraints{DriverType: "sim"}})
	if err != nil {
		a.t.Fatal(err)
	}
	return task
}

// ends waits for the end of a task.
func (a *alive) ends(id string) v1.Task {
	a.t.Helper()
	task, err := a.client.Wait(a.t.Context(), id, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	return task
}
