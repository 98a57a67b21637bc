package playground_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/bridge/sim"
	"github.com/phonebooth-dev/phonebooth/client"
	"github.com/phonebooth-dev/phonebooth/internal/playground"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	runners "github.com/phonebooth-dev/phonebooth/runner/builtin"
	strategies "github.com/phonebooth-dev/phonebooth/strategy/builtin"
)

// during runs dev on dir for as long as f takes.
func during(t *testing.T, dir string, f func(c *client.Client, ended <-chan error)) {
	t.Helper()
	registry, err := runners.Registry()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	clients, ended := make(chan *client.Client, 1), make(chan error, 1)
	go func() {
		ended <- playground.Dev(ctx, playground.Options{
			Data: dir, Listen: "127.0.0.1:0", Strategies: strategies.Registry(), Strategy: strategies.Default, Runners: registry,
			Bridges: map[string]bridge.Bridge{"sim": sim.New(1)}, HostName: "dev", Log: slog.New(slog.DiscardHandler),
			Ready: func(url, token string) {
				c, err := client.New(url, token, client.Options{})
				if err != nil {
					t.Error(err)
				}
				clients <- c
			},
		})
	}()
	select {
	case c := <-clients:
		f(c, ended)
	case err := <-ended:
		t.Fatalf("dev ended: %v", err)
	}
	stop()
	<-ended
}

func runs(t *testing.T, c *client.Client) {
	t.Helper()
	task, err := c.Submit(t.Context(), v1.TaskRequest{Goal: "print x"})
	if err == nil {
		task, err = c.Wait(t.Context(), task.ID, nil)
	}
	if err != nil || task.Status != "done" {
		t.Errorf("the task is %s, %v; want done", task.Status, err)
	}
}

func TestDevGoesOnInADirectoryThatWasMoved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "one")
	during(t, dir, func(c *client.Client, _ <-chan error) { runs(t, c) })
	moved := filepath.Join(t.TempDir(), "two")
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	during(t, moved, func(c *client.Client, _ <-chan error) { runs(t, c) })
}

func TestDevWhoseHostWasRemovedEndsAndIsANewHostNextTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	during(t, dir, func(c *client.Client, ended <-chan error) {
		runs(t, c)
		hosts, err := c.Hosts(t.Context())
		if err != nil || len(hosts) != 1 {
			t.Fatalf("hosts %v, %v", hosts, err)
		}
		if err := c.RemoveHost(t.Context(), hosts[0].ID); err != nil {
			t.Fatal(err)
		}
	})
	during(t, dir, func(c *client.Client, _ <-chan error) { runs(t, c) })
}
