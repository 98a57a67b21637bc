package lifecycle

import (
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// agent is one identity of a Host Agent: its journal outlives its crashes.
type agent struct {
	m *machine
	w *world

	rate   float64 // of its clock against the store's
	steady time.Duration

	alive       bool
	gone        bool // superseded or refused: it never starts again
	life        int  // answers to an earlier life are lost
	incarnation int64
	seq         int64
	claimID     string           // of the claim that has no answer yet
	confirm     map[string]int64 // numbers from the last inventory's answer
	runs        []*run           // the journal
}

// run is one attempt in an agent's hands.
type run struct {
	a      *agent
	key    phonebooth.AttemptKey
	lease  phonebooth.LeaseID
	device string

	belief  Belief
	started bool
	dirty   bool          // started, and the device not cleaned since
	killed  bool          // told to stop; then nothing extends it
	stop    time.Duration // steady time at which it is surely dead
	told    bool          // that a cancellation is pending
	outcome phonebooth.Outcome
	code    string
	acked   bool // its report has its final answer
}

// driving reports whether the runner may be touching the device at this instant.
func (r *run) driving() bool { return r.started && r.a.steady < r.stop }

// kill begins a kill that takes its whole time.
func (r *run) kill() {
	r.killed = true
	r.stop = min(r.stop, r.a.steady+policy.KillTime)
}

// renewed takes over a renewal, unless the minder has begun to kill.
func (r *run) renewed(sent, fence time.Duration) {
	if r.killed || !r.belief.MayDrive(r.a.steady) {
		return
	}
	r.belief = r.belief.Renewed(sent, fence)
	r.stop = r.belief.Fence + policy.KillTime
}

func (a *agent) find(lease phonebooth.LeaseID) *run {
	for _, r := range a.runs {
		if r.lease == lease {
			return r
		}
	}
	return nil
}

// hands is what the agent knows to be on a device: its journal and its lock tell it about earlier lives too.
func (a *agent) hands(device string) Hands {
	var h Hands
	for _, r := range a.runs {
		if r.device == device {
			h.Lease = h.Lease || !r.acked
			h.Process = h.Process || r.driving()
			h.Cleaning = h.Cleaning || r.dirty
		}
	}
	return h
}

// condition is the agent's word on a device.
func (a *agent) condition(device string) phonebooth.Condition {
	h := a.hands(device)
	if a.w.faults.readyDirty {
		h.Cleaning = false
	}
	switch {
	case h.MaySayReady() || a.w.faults.readyBlind:
		return phonebooth.Ready
	case h.Lease || h.Process:
		return phonebooth.Leased
	}
	return phonebooth.Cleaning
}

// word is the agent's next word, which orders what it says.
func (a *agent) word() phonebooth.Word {
	a.seq++
	return phonebooth.Word{Incarnation: a.incarnation, Seq: a.seq}
}

// start is a new life. Of the leases that the host is believed to have, it gives back those that its journal never saw.
func (a *agent) start(takeOver bool) {
	if a.alive || a.gone {
		return
	}
	c, h, err := Start(a.w.db.hosts[a.m.id], a.w.next("start"), a.incarnation, takeOver, "", a.w.time())
	if err != nil {
		a.gone = true
		return
	}
	a.w.apply(c)
	a.alive, a.incarnation, a.seq = true, h.Incarnation, 0
	for _, l := range a.w.db.liveAttempts() {
		if l.HostID == a.m.id && l.State == phonebooth.AttemptDispatched && a.find(l.LeaseID) == nil {
			a.runs = append(a.runs, &run{
				a: a, key: l.AttemptKey, lease: l.LeaseID, device: a.w.db.devices[l.DeviceID].Key,
				outcome: phonebooth.OutcomeAbandoned, code: "agent_restarted",
			})
		}
	}
}

// crash kills the agent; the minders see their pipes close, and kill.
func (a *agent) crash() {
	a.alive, a.claimID = false, ""
	a.life++
	for _, r := range a.runs {
		if r.driving() {
			r.kill()
		}
	}
}

// superseded is what an older agent does when it is told of a newer one.
func (a *agent) superseded() {
	a.crash()
	a.gone = true
}

// hear wraps an answer to one life: a later one does not get it.
func (a *agent) hear(life int, answer func()) func() {
	return func() {
		if a.alive && a.life == life {
			answer()
		}
	}
}

// claim asks for work; while there is no answer it repeats itself under the same id.
func (a *agent) claim() {
	if a.claimID == "" {
		a.claimID = a.w.next("claim")
	}
	call := claimCall{a: a, life: a.life, incarnation: a.incarnation, id: a.claimID, sent: a.steady}
	a.w.send(func() { a.w.claimArrives(call) })
}

// assignment is one attempt in the answer to a claim.
type assignment struct {
	key    phonebooth.AttemptKey
	lease  phonebooth.LeaseID
	device string
	cancel bool
	fence  time.Duration
}

func (a *agent) gotClaim(id string, sent, parked time.Duration, got []assignment) {
	if a.claimID == id {
		a.claimID = ""
	}
	for _, g := range got {
		if a.find(g.lease) != nil {
			continue
		}
		belief := BelieveClaim(sent, parked, g.fence)
		if a.w.faults.claimAtReceipt {
			belief = BelieveClaim(a.steady, 0, g.fence)
		}
		r := &run{a: a, key: g.key, lease: g.lease, device: g.device, belief: belief, told: g.cancel}
		locked := a.w.locks && a.hands(g.device) != Hands{}
		a.runs = append(a.runs, r)
		switch {
		case g.cancel:
			r.outcome = phonebooth.OutcomeCancelled
		case locked:
			r.outcome, r.code = phonebooth.OutcomeAbandoned, "try_again"
		case !belief.MayDrive(a.steady):
			r.outcome, r.code = phonebooth.OutcomeAbandoned, "fenced"
		default:
			r.started, r.dirty, r.stop = true, true, belief.Fence+policy.KillTime
		}
	}
}

// renew renews every lease whose report has no final answer.
func (a *agent) renew() {
	var leases []phonebooth.LeaseID
	for _, r := range a.runs {
		if !r.acked {
			leases = append(leases, r.lease)
		}
	}
	life, incarnation, sent := a.life, a.incarnation, a.steady
	a.w.send(func() { a.w.renewalsArrive(a, life, incarnation, sent, leases) })
}

func (a *agent) gotRenewals(sent time.Duration, leases []phonebooth.LeaseID, answers []Renewal) {
	if a.w.faults.renewalAtReceipt {
		sent = a.steady
	}
	for i, answer := range answers {
		r := a.find(leases[i])
		if answer.Lost != "" {
			r.kill()
			continue
		}
		r.told = r.told || answer.CancelRequested
		r.renewed(sent, answer.Fence)
	}
}

// inventory says what is on every phone.
func (a *agent) inventory() {
	word := a.word()
	var seen []Sighting
	for _, key := range a.m.keys {
		seen = append(seen, Sighting{Key: key, Name: key, DriverType: "android", Condition: a.condition(key), Confirm: a.confirm[key]})
	}
	life := a.life
	a.w.send(func() { a.w.inventoryArrives(a, life, word, seen) })
}

// tend is what a healthy agent does all the time.
func (a *agent) tend() {
	if a.alive {
		a.renew()
		a.report(0)
		a.inventory()
		a.claim()
	}
}

// end ends a runner by itself.
func (a *agent) end(n int, outcome phonebooth.Outcome) {
	for _, r := range rotated(a.runs, n) {
		if r.driving() && !r.killed {
			if r.told {
				outcome = phonebooth.OutcomeCancelled
			}
			r.killed, r.stop, r.outcome, r.code = true, a.steady, outcome, "runner_failed"
			return
		}
	}
}

// clean ends the cleaning of a phone that nothing drives.
func (a *agent) clean(n int) {
	key := a.m.keys[n%len(a.m.keys)]
	if a.hands(key).Process {
		return
	}
	for _, r := range a.runs {
		if r.device == key {
			r.dirty = false
		}
	}
}

// report tells of a run whose runner is dead.
func (a *agent) report(n int) {
	for _, r := range rotated(a.runs, n) {
		if r.acked || r.driving() && !(a.w.faults.giveBackAlive && r.killed) {
			continue
		}
		if r.outcome == "" {
			r.outcome, r.code = phonebooth.OutcomeAbandoned, "fenced"
		}
		said := phonebooth.Report{Outcome: r.outcome, Failure: phonebooth.Failure{Code: r.code}}
		condition := phonebooth.Ready
		if !a.w.faults.readyBlind && (a.hands(r.device).Process || r.dirty && !a.w.faults.readyDirty) {
			condition = phonebooth.Cleaning
		}
		word := DeviceWord{Word: a.word(), Condition: condition}
		life, incarnation := a.life, a.incarnation
		a.w.send(func() { a.w.reportArrives(a, life, incarnation, r, said, word) })
		return
	}
}

// rotated is s from its n-th element on, with what was before at the end.
func rotated[T any](s []T, n int) []T {
	if len(s) == 0 {
		return nil
	}
	n %= len(s)
	return append(append([]T{}, s[n:]...), s[:n]...)
}
