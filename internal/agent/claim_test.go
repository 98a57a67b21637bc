package agent_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/bridge/sim"
	"github.com/phonebooth-dev/phonebooth/internal/agent"
)

// overtaken is a control plane that the first request for work reaches when it is let go.
type overtaken struct {
	*scripted
	asked atomic.Int64
	sent  chan struct{} // closed when the first request is on its way
	let   chan struct{} // closed to let it arrive
}

func (s *overtaken) Claim(ctx context.Context, r v1.ClaimRequest) (v1.ClaimAnswer, error) {
	if s.asked.Add(1) == 1 {
		close(s.sent)
		select {
		case <-s.let:
		case <-ctx.Done():
		}
	}
	return s.scripted.Claim(ctx, r)
}

func TestAnOvertakenRequestForWorkKeepsNoDeviceWaiting(t *testing.T) {
	t.Parallel()
	h := &house{scripted: newScripted(time.Hour), dir: t.TempDir()} // so any pause is longer than a test's patience
	s := &overtaken{scripted: h.scripted, sent: make(chan struct{}), let: make(chan struct{})}
	devices := sim.New(2)
	devices.Unplug("sim-1")
	devices.Unplug("sim-2")
	registry, err := runners()
	if err != nil {
		t.Fatal(err)
	}
	home := newHome(t, h.dir)
	a, err := agent.New(home, s, map[string]bridge.Bridge{"sim": devices}, registry, agent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()

	<-s.sent // it asks for one: no device is known
	devices.Plug("sim-1")
	devices.Plug("sim-2")
	h.condition(t, "sim-1", "ready")
	h.condition(t, "sim-2", "ready")
	s.until(t, "a request for both devices", func() bool { return len(s.claimMax) > 0 && s.claimMax[len(s.claimMax)-1] == 2 })
	close(s.let)
	s.until(t, "the first request", func() bool { return s.claimMax[len(s.claimMax)-1] == 1 })
	check(t, h.ended(t, h.goal("sim-1", "print one")), "done", "")
	check(t, h.ended(t, h.goal("sim-2", "print two")), "done", "")

	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := home.Close(); err != nil {
		t.Error(err)
	}
}
