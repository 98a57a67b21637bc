package control

import (
	"context"
	"errors"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// Explain says why a task stands where it does. It changes nothing. What it says is of one moment: when the task moved on
// while it was looked at, it is looked at again.
func (c *Control) Explain(ctx context.Context, id phonebooth.TaskID) (e v1.Explanation, err error) {
	for range 3 {
		t, err := c.Task(ctx, id)
		if err != nil {
			return e, err
		}
		if e, err = c.explain(ctx, t); err != nil {
			return e, answer(err, nil)
		}
		now, err := c.Task(ctx, id)
		if err != nil {
			return e, err
		}
		if now.Rev == t.Rev {
			break
		}
	}
	e.Sentences = e.Text()
	return e, nil
}

// ExplainSpec says what a submission of spec would meet now, or refuses it as Submit does. Nothing is stored; a queue that is
// full is part of the explanation. spec has its defaults.
func (c *Control) ExplainSpec(ctx context.Context, spec phonebooth.TaskSpec) (e v1.Explanation, err error) {
	if spec, err = c.checked(ctx, spec); err != nil {
		return e, err
	}
	head, err := c.store.Head(ctx)
	if err != nil {
		return e, answer(err, nil)
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return e, answer(err, nil)
	}
	change, err := lifecycle.Submit("", spec, phonebooth.Submission{}, head.Queued, c.opts.MaxQueueDepth, now)
	var refusal *v1.Failure
	if known, ok := errors.AsType[*phonebooth.Error](err); ok {
		refusal = &v1.Failure{Code: known.Code, Message: known.Message}
		change, err = lifecycle.Submit("", spec, phonebooth.Submission{}, 0, c.opts.MaxQueueDepth, now) // as if there were room
	}
	if err != nil {
		return e, answer(err, nil)
	}
	if e, err = c.explain(ctx, change.Tasks[0]); err != nil {
		return e, answer(err, nil)
	}
	e.SubmittedAt, e.Refusal = nil, refusal
	e.Sentences = e.Text()
	return e, nil
}

// explain is everything but the sentences.
func (c *Control) explain(ctx context.Context, t phonebooth.Task) (v1.Explanation, error) {
	w := v1.TaskOf(t)
	e := v1.Explanation{
		TaskID: w.ID, Status: w.Status, Failure: w.Failure, Attempts: []v1.AttemptStory{}, MaxAttempts: w.MaxAttempts,
		SubmittedAt: &w.CreatedAt, FinishedAt: w.FinishedAt,
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return e, err
	}
	e.At = now.UTC()
	attempts, err := c.store.Attempts(ctx, t.ID)
	if err != nil {
		return e, err
	}
	names := &poolNames{store: c.store, devices: map[phonebooth.DeviceID]v1.DeviceRef{}}
	for _, a := range attempts {
		ref, err := names.of(ctx, a)
		switch {
		case err != nil:
			return e, err
		case a.Live():
			e.Run, err = c.run(ctx, t, a, ref)
		default:
			e.Attempts = append(e.Attempts, v1.StoryOf(v1.AttemptOf(a), ref, becameOf(t, a)))
		}
		if err != nil {
			return e, err
		}
	}
	if t.Status == phonebooth.Queued {
		e.Wait, err = c.wait(ctx, t)
	}
	return e, err
}

// becameOf is what t became with the end of a: queued when it was, or is, tried again.
func becameOf(t phonebooth.Task, a phonebooth.Attempt) phonebooth.Status {
	if a.Number < t.Attempt || !t.Status.Terminal() {
		return phonebooth.Queued
	}
	return t.Status
}

// wait is the scheduler's word, with what the store knows of the attempts that hold the devices.
func (c *Control) wait(ctx context.Context, t phonebooth.Task) (*v1.Wait, error) {
	if c.opts.Waits == nil {
		return nil, phonebooth.Errorf(phonebooth.Unavailable, "store_unavailable", "there is no scheduler to ask")
	}
	w, err := c.opts.Waits(ctx, t)
	if err != nil {
		return nil, err
	}
	for _, state := range w.States {
		for i := range state.Devices {
			if holder := state.Devices[i].Holder; holder != nil {
				if err := c.fillHolder(ctx, phonebooth.DeviceID(state.Devices[i].Device.ID), holder); err != nil {
					return nil, err
				}
			}
		}
	}
	return &w, nil
}

// fillHolder adds until when h holds the device; an attempt that has ended meanwhile stays without.
func (c *Control) fillHolder(ctx context.Context, device phonebooth.DeviceID, h *v1.Holder) error {
	a, err := c.store.AttemptOnDevice(ctx, device)
	if errors.Is(err, store.ErrNotFound) || err == nil && (string(a.TaskID) != h.TaskID || a.Number != h.Attempt) {
		return nil
	}
	if err != nil {
		return err
	}
	t, err := c.store.Task(ctx, a.TaskID)
	if err != nil {
		return err
	}
	wire := v1.AttemptOf(a)
	h.MaxAttempts, h.State, h.LeaseExpiresAt = t.MaxAttempts, wire.State, &wire.ExpiresAt
	h.TimesOutAt, h.CancelRequested = timesOut(t, a), t.CancelRequested()
	return nil
}

// timesOut is when the host ends a by the task's timeout, nil before it has fetched it.
func timesOut(t phonebooth.Task, a phonebooth.Attempt) *time.Time {
	if a.DispatchedAt.IsZero() {
		return nil
	}
	at := a.DispatchedAt.Add(t.Timeout).UTC()
	return &at
}

// run tells of live a of t.
func (c *Control) run(ctx context.Context, t phonebooth.Task, a phonebooth.Attempt, device v1.DeviceRef) (*v1.Run, error) {
	wire := v1.AttemptOf(a)
	r := &v1.Run{
		Attempt: a.Number, Device: device, Asked: v1.TaskOf(t).Constraints, AssignedAt: wire.AssignedAt, DispatchedAt: wire.DispatchedAt,
		LeaseExpiresAt: wire.ExpiresAt, TimesOutAt: timesOut(t, a),
	}
	if t.CancelRequested() {
		at := t.CancelRequestedAt.UTC()
		r.CancelRequested = &at
	}
	events, err := c.store.Events(ctx, store.EventFilter{TaskID: t.ID, Kinds: []phonebooth.EventKind{phonebooth.TaskAssigned}})
	if err != nil {
		return nil, err
	}
	for _, event := range events {
		if event.Attempt == a.Number {
			r.Strategy = event.Detail.Strategy
		}
	}
	h, err := c.store.Host(ctx, a.HostID)
	if err != nil {
		return nil, err
	}
	switch { // a deaf host goes on with what it has fetched
	case !h.SilentSince.IsZero():
		r.HostTrouble, r.HostSince = string(phonebooth.ReasonSilent), &h.SilentSince
	case !h.DeafSince.IsZero() && a.DispatchedAt.IsZero():
		r.HostTrouble, r.HostSince = string(phonebooth.ReasonDeaf), &h.DeafSince
	}
	return r, nil
}

// poolNames reads what devices and their hosts are called, also those that were removed.
type poolNames struct {
	store   store.Reader
	devices map[phonebooth.DeviceID]v1.DeviceRef
}

func (n *poolNames) of(ctx context.Context, a phonebooth.Attempt) (v1.DeviceRef, error) {
	if ref, ok := n.devices[a.DeviceID]; ok {
		return ref, nil
	}
	d, err := n.store.Device(ctx, a.DeviceID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return v1.DeviceRef{}, err
	}
	h, err := n.store.Host(ctx, a.HostID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return v1.DeviceRef{}, err
	}
	ref := v1.DeviceRef{ID: string(a.DeviceID), Name: d.Name, HostID: string(a.HostID), HostName: h.Name}
	n.devices[a.DeviceID] = ref
	return ref, nil
}
