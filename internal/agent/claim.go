package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"path/filepath"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/runner"
)

// asking is one request for work, under one claim id, until it is answered.
type asking struct {
	max  int
	done chan struct{}
	idle bool // it was answered at once and brought nothing; to be read after done
}

// claimWork asks for work again and again until ctx ends. One request is outstanding; when more can be taken than it asked
// for, a new one takes its place, and the control plane answers the older one empty. What is claimed lives as long as life.
func (a *Agent) claimWork(ctx, life context.Context) {
	current := a.ask(ctx, life)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			continue
		case <-current.done:
			if current.idle {
				a.pauseAsking(ctx)
			}
		case <-a.pool.grown:
			if a.pool.capacity() <= current.max {
				continue
			}
		}
		current = a.ask(ctx, life)
	}
}

// pauseAsking waits a moment after a request that was answered at once without work. A control plane that is about to stop
// answers so, and one that an older request of this agent reached after the newer one: when that older request brings
// something, the pause is over.
func (a *Agent) pauseAsking(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-a.pool.grown:
	case <-time.After(a.timing.renewAgain()):
	}
}

// ask starts one request. It is repeated under its id until it is answered, so an answer that got lost is got again.
func (a *Agent) ask(ctx, life context.Context) *asking {
	q := &asking{max: a.pool.capacity(), done: make(chan struct{})}
	request := v1.ClaimRequest{
		Incarnation: a.incarnation, ClaimID: "claim_" + rand.Text(), Max: q.max, WaitMS: a.timing.longestWait().Milliseconds(),
	}
	a.claims.Go(func() {
		defer close(q.done)
		began, failing := time.Now(), false
		for {
			got, answered := a.askOnce(ctx, life, request, &failing)
			if answered {
				q.idle = got == 0 && time.Since(began) < soon
				return
			}
			if !sleep(ctx, a.timing.pause()) {
				a.settleClaim(life, request)
				return
			}
		}
	})
	return q
}

// soon is how quickly an empty answer comes from a control plane that does not park requests.
const soon = 50 * time.Millisecond

// askOnce makes one call. It tells how many assignments it brought and whether it was answered at all.
func (a *Agent) askOnce(ctx, life context.Context, request v1.ClaimRequest, failing *bool) (got int, answered bool) {
	call, cancel := context.WithTimeout(ctx, milliseconds(request.WaitMS)+a.timing.callTimeout())
	defer cancel()
	sent := a.now()
	answer, err := a.server.Claim(call, request)
	if err != nil {
		a.heed(err)
		a.noteFailing(ctx, failing, "claim", err)
		return 0, false
	}
	if answer.Renew {
		poke(a.hurry)
	}
	for _, assignment := range answer.Assignments {
		a.accept(life, assignment, sent)
	}
	return len(answer.Assignments), true
}

// settleClaim asks once more, for nothing new, whether a request that was broken off had been answered with work: that
// work is then given back at once instead of left to expire.
func (a *Agent) settleClaim(life context.Context, request v1.ClaimRequest) {
	ctx, cancel := context.WithTimeout(life, a.timing.of30(5*time.Second))
	defer cancel()
	request.Max, request.WaitMS = 0, 0
	failing := true
	a.askOnce(ctx, life, request, &failing)
}

// leave is the last request for work: it takes what was assigned meanwhile, to give it back at once instead of letting it
// expire, and keeps the control plane from assigning more. Without an answer an assignment more may have to expire.
func (a *Agent) leave(life context.Context) {
	ctx, cancel := context.WithTimeout(life, a.timing.of30(2*time.Second))
	defer cancel()
	failing := true
	a.askOnce(ctx, life, v1.ClaimRequest{
		Incarnation: a.incarnation, ClaimID: "claim_" + rand.Text(), Max: phonebooth.MaxDevicesPerHost, Leaving: true,
	}, &failing)
}

// accept takes an assignment that came in the answer to a request that left at sent, and starts working on it.
func (a *Agent) accept(life context.Context, assignment v1.Assignment, sent time.Duration) {
	parked := milliseconds(assignment.ParkedMS)
	ctx, stop := context.WithCancelCause(life)
	l := &lease{
		Assignment: assignment, stop: stop,
		begun:  lifecycle.BelieveClaim(sent, parked, 0).Fence,
		belief: lifecycle.BelieveClaim(sent, parked, milliseconds(assignment.FenceMS)),
		cookie: a.cookiePrefix() + rand.Text(),
		dir:    filepath.Join(a.home.placeDir(), filepath.Base("/"+assignment.Task.ID)+"."+rand.Text()),
	}
	if !a.leases.add(l) {
		stop(errors.New("the lease is held already"))
		return
	}
	if a.stopping() {
		l.end(runner.Stopping)
	}
	if a.timing.endsSoon(milliseconds(assignment.FenceMS)) { // its answer was late, or came in a repeat
		poke(a.hurry)
	}
	a.log.Info("claimed", l.task()...)
	a.attempts.Go(func() { a.attempt(ctx, life, l) })
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
