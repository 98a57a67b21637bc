package playground

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/bridge/sim"
	"github.com/phonebooth-dev/phonebooth/client"
	"github.com/phonebooth-dev/phonebooth/internal/agent"
)

// demoPatience is how long the story may take before something is wrong.
const demoPatience = time.Minute

// ErrStory means that a task of the demo did not end as told.
var ErrStory = errors.New("the demo did not go as told")

// Demo plays the story: a small simulated pool and a dozen tasks, of which one fails, one is cancelled in the middle and one
// survives a killed runner. It draws to out, over and over in one place when size says that there is room, and returns nil only if every task
// ended as told. Data, Listen and Bridges of opts are its own affair.
func Demo(ctx context.Context, opts Options, out io.Writer, size Size) error {
	dir, err := os.MkdirTemp("", "phonebooth-demo-")
	if err != nil {
		return fmt.Errorf("make a directory for the demo: %w", err)
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeoutCause(ctx, demoPatience, fmt.Errorf("%w: it took longer than %v", ErrStory, demoPatience))
	defer cancel()
	opts.Data, opts.Listen, opts.HostName = dir, "127.0.0.1:0", "demo"
	opts.Bridges = map[string]bridge.Bridge{"sim": sim.New(demoDevices)}

	p := &play{screen: newScreen(out, size), began: time.Now()}
	opts.Ready = func(url, token string) { p.client, err = client.New(url, token, client.Options{}) }
	ready := make(chan struct{})
	opts.hosting = func(a *agent.Agent) {
		p.agent = a
		close(ready)
	}
	g, ctx := errgroup.WithContext(ctx)
	running, stop := context.WithCancel(ctx)
	defer stop()
	g.Go(func() error { return Dev(running, opts) })
	g.Go(func() error {
		defer stop()
		select {
		case <-ready:
			if err != nil {
				return err
			}
			return p.perform(ctx)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	return g.Wait()
}

// play is one performance of the story.
type play struct {
	client *client.Client
	agent  *agent.Agent
	screen *screen
	began  time.Time
	roles  []role
}

// role is a scene that was submitted.
type role struct {
	scene
	task v1.Task
	told bool // the cancel or the kill was done
}

func (p *play) perform(ctx context.Context) error {
	for _, s := range story() {
		t, err := p.client.Submit(ctx, s.task)
		if err != nil {
			return fmt.Errorf("submit %q: %w", s.title, err)
		}
		p.roles = append(p.roles, role{scene: s, task: t})
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		ended, err := p.look(ctx)
		if err != nil {
			return err
		}
		p.screen.draw(p.roles, time.Since(p.began))
		if ended {
			return p.screen.close(p.roles, time.Since(p.began))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// look reads every task, does what the story does to it, and reports whether all have ended.
func (p *play) look(ctx context.Context) (ended bool, err error) {
	ended = true
	for i := range p.roles {
		r := &p.roles[i]
		if r.task, err = p.client.Task(ctx, r.task.ID); err != nil {
			return false, err
		}
		ended = ended && r.task.FinishedAt != nil
		if err := p.tell(ctx, r); err != nil {
			return false, err
		}
	}
	return ended, nil
}

// tell cancels, or kills, once the runner has been at work for a moment.
func (p *play) tell(ctx context.Context, r *role) error {
	if r.told || !r.cancel && !r.kill || r.task.Status != "dispatched" || time.Since(*r.task.DispatchedAt) < time.Second {
		return nil
	}
	if r.cancel {
		r.told = true
		_, err := p.client.Cancel(ctx, r.task.ID)
		return err
	}
	pid, ok := p.agent.RunnerOf(phonebooth.TaskID(r.task.ID))
	if !ok || pid <= 0 {
		return nil
	}
	r.told = true
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill the runner of %q: %w", r.title, err)
	}
	return nil
}

// astray lists what did not end as told.
func (r role) astray() string {
	switch {
	case r.task.Status != r.status:
		return fmt.Sprintf("is %s, not %s", r.task.Status, r.status)
	case r.code != "" && (r.task.Failure == nil || r.task.Failure.Code != r.code):
		return fmt.Sprintf("did not fail with %s", r.code)
	case r.task.Attempt != r.attempts:
		return fmt.Sprintf("took %d attempts, not %d", r.task.Attempt, r.attempts)
	case (r.cancel || r.kill) && !r.told:
		return "ended before its turn"
	}
	return ""
}
