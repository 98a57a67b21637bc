package lifecycle

import (
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// claimCall is a claim request, on its way or parked.
type claimCall struct {
	a           *agent
	life        int
	incarnation int64
	id          string
	sent        time.Duration // by the agent's clock
	arrived     time.Duration // by the store's
}

func (w *world) submit(maxAttempts int, queueTimeout time.Duration) {
	id := phonebooth.TaskID(w.next("task"))
	spec := phonebooth.TaskSpec{Goal: "x", MaxAttempts: maxAttempts, Timeout: time.Minute, QueueTimeout: queueTimeout}
	c, err := Submit(id, spec, phonebooth.Submission{}, 0, 100, w.time())
	if err == nil {
		w.apply(c)
		w.ref.submitted(id, maxAttempts)
	}
}

// place tries every queued task on every device, beginning anywhere.
func (w *world) place(n int) {
	for _, id := range rotated(w.db.taskOrder, n) {
		for _, m := range rotated(w.machines, n) {
			for _, key := range rotated(m.keys, n) {
				device := m.ids[key]
				d, ok := w.db.devices[device]
				if !ok {
					continue
				}
				p := Placement{TaskID: id, DeviceID: device, HostID: m.id, LeaseID: phonebooth.LeaseID(w.next("lease"))}
				c, err := Place(p, w.db.hosts[m.id], d, w.db.reservation(device), w.db.tasks[id], policy, w.time())
				if err == nil {
					w.ref.placed(id, device)
					w.apply(c)
					return
				}
			}
		}
	}
}

func (w *world) cancel(n int) {
	if len(w.db.taskOrder) == 0 {
		return
	}
	id := w.db.taskOrder[n%len(w.db.taskOrder)]
	c, err := Cancel(w.db.tasks[id], w.time())
	if err != nil {
		return
	}
	if len(c.Attempts) > 0 {
		w.breaks(promiseRow, "cancelling %s touches an attempt, and so perhaps its expiry", id)
	}
	w.ref.cancelRequested(id)
	w.apply(c)
}

func (w *world) sweepPolicy() Policy {
	p := policy
	if w.faults.noGrace {
		p.Grace = 0
	}
	return p
}

// sweepOnTime lets nothing happen until the next dispatched lease is due, and takes it at that very instant.
func (w *world) sweepOnTime() {
	var wait time.Duration
	for _, a := range w.db.liveAttempts() {
		left := a.ExpiresAt.Add(w.sweepPolicy().Grace).Sub(w.time())
		if a.State == phonebooth.AttemptDispatched && left > 0 && (wait == 0 || left < wait) {
			wait = left
		}
	}
	w.advance(wait)
	w.sweep()
}

// sweep ends everything that is due.
func (w *world) sweep() {
	p := w.sweepPolicy()
	for _, a := range w.db.liveAttempts() {
		if c, err := Expire(w.db.live(a.AttemptKey), p, w.time()); err == nil {
			w.ref.ended(a.AttemptKey, phonebooth.OutcomeAbandoned)
			w.apply(c)
		}
	}
	for _, id := range w.db.taskOrder {
		if c, err := TimeOutInQueue(w.db.tasks[id], w.time()); err == nil {
			w.ref.tasks[id].status = phonebooth.Failed
			w.apply(c)
		}
	}
	for _, m := range w.machines {
		if c, err := Silence(w.db.hosts[m.id], p, w.time()); err == nil {
			w.apply(c)
		}
		if c, err := Deafen(w.db.hosts[m.id], "quiet", w.time().Add(-p.HostPolling), w.time()); err == nil {
			w.apply(c)
		}
	}
}

// extendWindows is what the sweep does after it was away.
func (w *world) extendWindows() {
	for _, a := range w.db.liveAttempts() {
		if c, err := ExtendWindow(w.db.live(a.AttemptKey), policy, w.time()); err == nil {
			w.apply(c)
		}
	}
}

func (w *world) release(n int) {
	for _, a := range rotated(w.db.liveAttempts(), n) {
		c, err := Release(w.db.live(a.AttemptKey), w.time())
		if err == nil {
			w.ref.ended(a.AttemptKey, phonebooth.OutcomeAbandoned)
			w.apply(c)
			return
		}
	}
}

func (w *world) claimArrives(call claimCall) {
	call.arrived = w.now
	if !w.answerClaim(call) {
		w.parked = append(w.parked, call)
	}
}

// answerParked tries one parked claim again; when there is still nothing and it has waited long enough, it ends empty.
func (w *world) answerParked(n int) {
	if len(w.parked) == 0 {
		return
	}
	i := n % len(w.parked)
	call := w.parked[i]
	if !w.answerClaim(call) && w.now-call.arrived < 25*time.Second {
		return
	}
	w.parked = append(w.parked[:i:i], w.parked[i+1:]...)
}

// answerClaim answers a claim when there is something to say.
func (w *world) answerClaim(call claimCall) bool {
	h := w.db.hosts[call.a.m.id]
	c, err := Poll(h, call.incarnation, w.time())
	if err != nil {
		w.send(call.a.hear(call.life, call.a.superseded))
		return true
	}
	w.apply(c)
	got, spent := w.again(call)
	if !spent {
		got = w.claimNew(call)
	}
	if len(got) == 0 && !spent {
		return false
	}
	parked := w.now - call.arrived
	if w.faults.parkedLate {
		parked += 5 * time.Second
	}
	w.send(call.a.hear(call.life, func() { call.a.gotClaim(call.id, call.sent, parked, got) }))
	return true
}

// again is the answer to a repeated claim: its attempts that still live, with fresh numbers.
func (w *world) again(call claimCall) (got []assignment, spent bool) {
	for _, key := range w.db.attemptOrder {
		a := w.db.attempts[key]
		if a.ClaimID != call.id {
			continue
		}
		spent = true
		if a.State == phonebooth.AttemptDispatched {
			g := w.assignmentOf(a)
			if w.faults.fullReplay {
				g.fence = policy.TTL - policy.FenceMargin
			}
			got = append(got, g)
		}
	}
	return got, spent
}

func (w *world) claimNew(call claimCall) (got []assignment) {
	for _, a := range w.db.liveAttempts() {
		if a.HostID != call.a.m.id {
			continue
		}
		c, err := Claim(w.db.live(a.AttemptKey), call.a.m.id, call.id, call.incarnation, policy, w.time())
		if err == nil {
			w.ref.claimed(a.AttemptKey)
			w.apply(c)
			got = append(got, w.assignmentOf(c.Attempts[0]))
		}
	}
	return got
}

func (w *world) assignmentOf(a phonebooth.Attempt) assignment {
	l := w.db.live(a.AttemptKey)
	_, fence := LeaseLeft(a, policy, w.time())
	return assignment{key: a.AttemptKey, lease: a.LeaseID, device: l.Device.Key, cancel: l.Task.CancelRequested(), fence: fence}
}

func (w *world) renewalsArrive(a *agent, life int, incarnation int64, sent time.Duration, leases []phonebooth.LeaseID) {
	if CheckIncarnation(w.db.hosts[a.m.id], incarnation) != nil {
		w.send(a.hear(life, a.superseded))
		return
	}
	answers := make([]Renewal, len(leases))
	for i, lease := range leases {
		l, _ := w.db.byLease(lease)
		c, r, err := Renew(l, a.m.id, policy, w.time())
		if err != nil {
			r.Lost = phonebooth.CodeOf(err)
		}
		w.apply(c)
		answers[i] = r
	}
	w.send(a.hear(life, func() { a.gotRenewals(sent, leases, answers) }))
}

func (w *world) inventoryArrives(a *agent, life int, word phonebooth.Word, seen []Sighting) {
	h := w.db.hosts[a.m.id]
	var known []phonebooth.Device
	for i, s := range seen {
		d, ok := w.db.devices[a.m.ids[s.Key]]
		if !ok {
			continue
		}
		known = append(known, d)
		if w.faults.unasked {
			seen[i].Confirm = d.Confirm
		}
		if w.faults.olderInventory && word.Incarnation == h.Incarnation {
			word.Seq = max(word.Seq, d.Word.Seq+1, h.Word.Seq+1)
		}
	}
	c, err := Inventory(h, word, seen, known, w.time())
	if err != nil {
		w.send(a.hear(life, a.superseded))
		return
	}
	w.apply(c)
	confirm := map[string]int64{}
	for _, key := range a.m.keys {
		if d := w.db.devices[a.m.ids[key]]; d.Condition == phonebooth.Unconfirmed {
			confirm[key] = d.Confirm
		}
	}
	w.send(a.hear(life, func() { a.confirm = confirm }))
}

// reportArrives lets the agent be done with the report whether it was accepted, known already or refused: each is final.
func (w *world) reportArrives(a *agent, life int, incarnation int64, r *run, said phonebooth.Report, word DeviceWord) {
	l, _ := w.db.byLease(r.lease)
	if w.faults.giveBackForeign {
		l.Attempt.Incarnation = l.Host.Incarnation
	}
	c, _, err := Finish(l, a.m.id, incarnation, said, word, policy, w.time())
	switch {
	case phonebooth.CodeOf(err) == "host_superseded":
		w.send(a.hear(life, a.superseded))
		return
	case err != nil:
		w.breaks(promiseRow, "a report of %v was refused: %v", r.key, err)
		return
	}
	if len(c.Tasks) > 0 {
		w.ref.ended(r.key, said.Outcome)
	}
	w.apply(c)
	w.send(a.hear(life, func() { r.acked = true }))
}
