package agent

import (
	"context"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/runner"
)

// renewLeases renews all leases in one call, again and again. After a failure it tries again soon: two repeats fit before
// the fence.
func (a *Agent) renewLeases(ctx context.Context) {
	failing := false
	wait := a.timing.renewEvery()
	for a.nextRenewal(ctx, wait) {
		wait = a.timing.renewEvery()
		ids := a.renewable()
		if len(ids) == 0 {
			continue
		}
		sent := a.now()
		call, cancel := context.WithTimeout(ctx, a.timing.renewTimeout())
		answer, err := a.server.Renew(call, v1.RenewalRequest{Incarnation: a.incarnation, LeaseIDs: ids})
		cancel()
		if err != nil {
			a.heed(err)
			a.noteFailing(ctx, &failing, "renewal", err)
			wait = a.timing.renewAgain()
			continue
		}
		failing = false
		for _, r := range answer.Leases {
			if l := a.leases.find(r.LeaseID); l != nil {
				a.renewed(l, r, sent)
			}
		}
	}
}

// nextRenewal waits for d, or until the control plane asks for a renewal; it returns false when ctx ended first.
func (a *Agent) nextRenewal(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-a.hurry:
	case <-timer.C:
	}
	return true
}

// renewable lists the leases to renew, as many as one call may hold.
func (a *Agent) renewable() []string {
	var ids []string
	for _, l := range a.leases.all() {
		if len(ids) < phonebooth.MaxDevicesPerHost {
			ids = append(ids, l.LeaseID)
		}
	}
	return ids
}

// renewed acts on one lease's answer; sent is when the renewal left.
func (a *Agent) renewed(l *lease, r v1.Renewal, sent time.Duration) {
	switch {
	case r.Lost != "":
		a.log.Warn("lease lost", append(l.task(), "reason", r.Lost)...)
		a.leases.drop(l.LeaseID)
		l.fall()
		return
	case r.CancelRequested:
		l.end(runner.Cancelled)
	}
	l.renewed(sent, milliseconds(r.FenceMS))
}
