package control

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// ClaimRequest asks for at most Max assignments and waits for the first one for at most Wait.
type ClaimRequest struct {
	Incarnation int64
	ClaimID     string // a repeat of one id is the same request (S6.2)
	Max         int
	Wait        time.Duration
	Leaving     bool // the agent is about to stop
}

// ClaimAnswer is what a claim brought: assignments, or nothing. Renew says that a cancellation waits for one of the host's
// leases, which a renewal will tell.
type ClaimAnswer struct {
	Assignments []Claimed
	Renew       bool
}

// Claimed is one attempt handed to its host, with what was left of it, and how long the request had been parked, when the
// answer was made.
type Claimed struct {
	lifecycle.Live
	WorkflowSource       string // of the task's workflow, if it has one
	Lease, Fence, Parked time.Duration
}

// Claim hands assignments to the host that owns them (S6.1). With none there it parks, until one is committed, the wait
// ends, a cancellation concerns the host, a newer claim of it arrives, or the control plane stops: then the answer is empty.
// When the caller goes away meanwhile, the host is deaf until it asks again.
func (c *Control) Claim(ctx context.Context, by Caller, host phonebooth.HostID, req ClaimRequest) (ClaimAnswer, error) {
	began := c.opts.Steady()
	p := c.parks.enter(host)
	defer c.parks.leave(host, p)
	timer := time.NewTimer(min(req.Wait, c.longestWait()))
	defer timer.Stop()
	look := time.NewTicker(c.opts.Policy.ClaimWindow / 3)
	defer look.Stop()
	for {
		parked := c.opts.Steady() - began // before what is left of a lease is counted, so never too long
		got, polled, err := c.claimNow(ctx, by, host, req)
		if err != nil {
			return ClaimAnswer{}, answer(err, nil)
		}
		if len(got) > 0 {
			for i := range got {
				got[i].Parked = parked
			}
			return ClaimAnswer{Assignments: got}, c.addWorkflows(ctx, got)
		}
		for assigned := false; !assigned; {
			select {
			case <-p.work:
				assigned = true
			case <-look.C:
				assigned = req.Max > 0 && c.hasAssigned(ctx, host)
			case <-p.renew:
				return ClaimAnswer{Renew: true}, nil
			case <-p.replaced:
				return ClaimAnswer{}, nil
			case <-timer.C:
				return ClaimAnswer{}, nil
			case <-c.parks.closed:
				return ClaimAnswer{}, nil
			case <-ctx.Done():
				c.broken(ctx, by, host, p, polled)
				return ClaimAnswer{}, ctx.Err()
			}
		}
	}
}

// hasAssigned reports whether an assignment waits that this process was not told of: another replica made it, or the
// connection broke at its COMMIT. A store that is away is asked again.
func (c *Control) hasAssigned(ctx context.Context, host phonebooth.HostID) bool {
	attempts, err := c.store.LiveAttempts(ctx, host)
	return err == nil && slices.ContainsFunc(attempts, func(a phonebooth.Attempt) bool { return a.State == phonebooth.AttemptAssigned })
}

// longestWait keeps a parked host from looking as if it had stopped asking.
func (c *Control) longestWait() time.Duration { return c.opts.Policy.HostPolling * 25 / 30 }

// claimNow claims what is there. polled is the time at which the host was noted as listening.
func (c *Control) claimNow(ctx context.Context, by Caller, host phonebooth.HostID, req ClaimRequest) ([]Claimed, time.Time, error) {
	var got []Claimed
	var polled time.Time
	claim := store.ClaimKey{HostID: host, ClaimID: req.ClaimID}
	v := verb("claim", by)
	v.Keys = fixed(store.Keys{
		Hosts: []phonebooth.HostID{host}, HostAttempts: []phonebooth.HostID{host}, Claims: []store.ClaimKey{claim},
	})
	v.Decide = func(view ledger.View) (lifecycle.Change, error) {
		got, polled = nil, view.Now
		h, ok := view.Hosts[host]
		if !ok {
			return lifecycle.Change{}, unknownHost()
		}
		note := lifecycle.Poll
		if req.Leaving {
			note = lifecycle.Leave
		}
		change, err := note(h, req.Incarnation, view.Now)
		if err != nil {
			return lifecycle.Change{}, err
		}
		if spent := view.Claims[claim]; len(spent) > 0 {
			got = c.again(view, spent)
			return change, nil
		}
		for _, l := range assignedTo(view, host) {
			if len(got) == req.Max {
				break
			}
			one, err := lifecycle.Claim(l, host, req.ClaimID, req.Incarnation, c.opts.Policy, view.Now)
			if err != nil {
				continue // expired, and about to be swept
			}
			change.Tasks = append(change.Tasks, one.Tasks...)
			change.Attempts = append(change.Attempts, one.Attempts...)
			change.Events = append(change.Events, one.Events...)
			got = append(got, c.claimed(lifecycle.Live{Host: h, Device: l.Device, Task: one.Tasks[0], Attempt: one.Attempts[0]}, view.Now))
		}
		return change, nil
	}
	if err := c.ledger.Do(ctx, v); err != nil {
		return nil, time.Time{}, err
	}
	return got, polled, nil
}

// again answers a repeated claim: those of its attempts that still live, with what is left of them, never more (S6.2).
func (c *Control) again(view ledger.View, spent []phonebooth.AttemptKey) []Claimed {
	var got []Claimed
	for _, key := range spent {
		if l, ok := view.Live(key); ok && l.Attempt.State == phonebooth.AttemptDispatched {
			got = append(got, c.claimed(l, view.Now))
		}
	}
	return got
}

func (c *Control) claimed(l lifecycle.Live, now time.Time) Claimed {
	g := Claimed{Live: l}
	g.Lease, g.Fence = lifecycle.LeaseLeft(l.Attempt, c.opts.Policy, now)
	return g
}

// assignedTo lists the host's assigned attempts, the oldest assignment first.
func assignedTo(view ledger.View, host phonebooth.HostID) []lifecycle.Live {
	var ls []lifecycle.Live
	for key, a := range view.Attempts {
		if a.HostID != host || a.State != phonebooth.AttemptAssigned {
			continue
		}
		if l, ok := view.Live(key); ok {
			ls = append(ls, l)
		}
	}
	slices.SortFunc(ls, func(a, b lifecycle.Live) int {
		return cmp.Or(a.Attempt.AssignedAt.Compare(b.Attempt.AssignedAt), cmp.Compare(a.Task.Seq, b.Task.Seq))
	})
	return ls
}

// broken notes that the host went away while it waited, unless a newer claim of it has arrived.
func (c *Control) broken(ctx context.Context, by Caller, host phonebooth.HostID, p *park, polled time.Time) {
	if !c.parks.leave(host, p) {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer stop()
	v := verb("deafen", by)
	v.Keys = fixed(store.Keys{Hosts: []phonebooth.HostID{host}})
	v.Decide = func(view ledger.View) (lifecycle.Change, error) {
		return lifecycle.Deafen(view.Hosts[host], "its waiting request broke", polled, view.Now)
	}
	_ = c.ledger.Do(ctx, v) // refused when it has asked again; lost with the database: the sweep notices later
}

func (c *Control) addWorkflows(ctx context.Context, got []Claimed) error {
	for i := range got {
		ref := got[i].Task.Workflow
		if ref == nil {
			continue
		}
		w, err := c.store.Workflow(ctx, ref.Name, ref.Version)
		if err != nil {
			return answer(err, unknownWorkflow())
		}
		got[i].WorkflowSource = w.Source
	}
	return nil
}
