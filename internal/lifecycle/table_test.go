package lifecycle

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// TestTableAgrees builds rows for every verb in every situation, calls the function, and looks the situation up in the table.
func TestTableAgrees(t *testing.T) {
	t.Parallel()
	met := make([]int, len(Table))
	all := slices.Concat(submissions(), onTasks(), onAttempts())
	for _, s := range all {
		row := s.row(t)
		met[row]++
		s.compare(t, Table[row])
	}
	for i, n := range met {
		if n == 0 {
			t.Errorf("no situation meets row %d: %+v", i, Table[i])
		}
	}
	t.Logf("%d situations, %d rows", len(all), len(Table))
}

// situation is one verb on rows that were built for it.
type situation struct {
	name    string
	verb    Verb
	status  phonebooth.Status       // of the task before; "": no task
	attempt phonebooth.AttemptState // "": the verb is about the task
	holds   []Clause                // all that are true
	call    func() (Change, error)
}

// row finds the one row of the table for s.
func (s situation) row(t *testing.T) int {
	t.Helper()
	var rows []int
	for i, r := range Table {
		sameVerb := r.Verb == s.verb || r.Verb == VerbReport && slices.Contains(reporting, s.verb)
		sameTask := s.status == "" && r.From.Status == nil || slices.Contains(r.From.Status, s.status)
		sameAttempt := s.attempt == "" && r.From.Attempt == nil || slices.Contains(r.From.Attempt, s.attempt)
		unmet := slices.ContainsFunc(r.Guard, func(c Clause) bool { return !slices.Contains(s.holds, c) })
		if sameVerb && sameTask && sameAttempt && !unmet {
			rows = append(rows, i)
		}
	}
	if len(rows) != 1 {
		t.Fatalf("%s: meets rows %v, want exactly one", s.name, rows)
	}
	return rows[0]
}

// compare calls the function and holds its answer against r.
func (s situation) compare(t *testing.T, r Transition) {
	t.Helper()
	c, err := s.call()
	if got := phonebooth.CodeOf(err); got != r.Refusal {
		t.Errorf("%s: got %q, the table says %q", s.name, got, r.Refusal)
	}
	to, ending := phonebooth.Status(""), phonebooth.Ending("")
	if len(c.Tasks) > 0 && c.Tasks[0].Status != s.status {
		to = c.Tasks[0].Status
	}
	if len(c.Attempts) > 0 && s.attempt != phonebooth.AttemptEnded {
		ending = c.Attempts[0].Ending
	}
	if to != r.To || ending != r.Ending {
		t.Errorf("%s: got status %q and ending %q, the table says %q and %q", s.name, to, ending, r.To, r.Ending)
	}
	if released := len(c.Release) == 1; released != (r.Ending != "") {
		t.Errorf("%s: reservation released: %v, attempt ended: %v", s.name, released, r.Ending != "")
	}
	if reserved := len(c.Reserve) == 1; reserved != (r.To == phonebooth.Assigned) {
		t.Errorf("%s: reserved: %v, assigned: %v", s.name, reserved, r.To == phonebooth.Assigned)
	}
	if r.Refusal != "" && len(c.Tasks)+len(c.Devices)+len(c.Hosts) > 0 {
		t.Errorf("%s: refused, and yet changes %+v", s.name, c)
	}
}

func submissions() []situation {
	submit := func(queued int) func() (Change, error) {
		return func() (Change, error) {
			return Submit("task_1", taskIn(phonebooth.Queued).TaskSpec, phonebooth.Submission{}, queued, 10, epoch)
		}
	}
	return []situation{
		{name: "submit to a queue of 9", verb: VerbSubmit, holds: []Clause{QueueHasRoom}, call: submit(9)},
		{name: "submit to a queue of 10", verb: VerbSubmit, holds: []Clause{QueueFull}, call: submit(10)},
		{name: "submit to a queue of 11", verb: VerbSubmit, holds: []Clause{QueueFull}, call: submit(11)},
	}
}

func onTasks() []situation {
	var all []situation
	deadlines := []struct {
		at    time.Time
		holds Clause
	}{{time.Time{}, QueueTimeLeft}, {after(1), QueueTimeLeft}, {epoch, QueueTimePassed}, {after(-1), QueueTimePassed}}
	for _, status := range phonebooth.Statuses() {
		for _, deadline := range deadlines {
			for _, asked := range []time.Time{{}, epoch} {
				if !asked.IsZero() && status == phonebooth.Queued {
					continue // a request on an attempt ends with it
				}
				task := taskIn(status)
				task.QueueDeadline, task.CancelRequestedAt = deadline.at, asked
				name := fmt.Sprintf("%s, deadline %v, cancel asked %v", status, deadline.at, !asked.IsZero())
				holds := []Clause{deadline.holds}
				all = append(all,
					situation{"cancel " + name, VerbCancel, status, "", holds, func() (Change, error) { return Cancel(task, epoch) }},
					situation{"time out " + name, VerbTimeOutInQueue, status, "", holds, func() (Change, error) { return TimeOutInQueue(task, epoch) }})
				all = append(all, placements(name, task, deadline.holds)...)
			}
		}
	}
	return all
}

func placements(name string, task phonebooth.Task, deadline Clause) []situation {
	place := func(t phonebooth.Task, h phonebooth.Host, d phonebooth.Device, r *phonebooth.Reservation) func() (Change, error) {
		return func() (Change, error) { return Place(Placement{LeaseID: "lease_2"}, h, d, r, t, policy, epoch) }
	}
	mismatched, cordoned, deaf := task, readyDevice(), listeningHost()
	mismatched.Constraints.DriverType = "ios"
	cordoned.Hold = phonebooth.Cordoned
	deaf.DeafSince = epoch
	all := []situation{
		{"place " + name, VerbPlace, task.Status, "", []Clause{DeviceFree}, place(task, listeningHost(), readyDevice(), nil)},
		{"place mismatched " + name, VerbPlace, task.Status, "", []Clause{DeviceMismatch}, place(mismatched, listeningHost(), readyDevice(), nil)},
		{"place on reserved " + name, VerbPlace, task.Status, "", []Clause{DeviceTaken}, place(task, listeningHost(), readyDevice(), &phonebooth.Reservation{})},
		{"place on cordoned " + name, VerbPlace, task.Status, "", []Clause{DeviceTaken}, place(task, listeningHost(), cordoned, nil)},
		{"place on deaf " + name, VerbPlace, task.Status, "", []Clause{DeviceTaken}, place(task, deaf, readyDevice(), nil)},
	}
	for i := range all {
		all[i].holds = append(all[i].holds, deadline)
	}
	return all
}

func onAttempts() []situation {
	var all []situation
	for _, state := range []phonebooth.AttemptState{phonebooth.AttemptAssigned, phonebooth.AttemptDispatched} {
		for bits := range 16 {
			for _, late := range []time.Duration{-1, 0, policy.Grace - 1, policy.Grace} {
				all = append(all, onLive(state, bits&1 != 0, bits&2 != 0, bits&4 != 0, bits&8 != 0, late)...)
			}
		}
	}
	for _, status := range phonebooth.Statuses() {
		for _, newer := range []bool{false, true} {
			for _, reported := range []phonebooth.Outcome{"", phonebooth.OutcomeDone, phonebooth.OutcomeFailed, phonebooth.OutcomeCancelled, phonebooth.OutcomeAbandoned} {
				all = append(all, onEnded(status, newer, true, reported)...)
			}
			all = append(all, onEnded(status, newer, false, "")...)
		}
	}
	return all
}

// onLive tries every verb on a live attempt, late after its expiry.
func onLive(state phonebooth.AttemptState, asked, last, over, overtime bool, late time.Duration) []situation {
	l := assignedLive()
	if state == phonebooth.AttemptDispatched {
		l = dispatchedLive()
	}
	now := l.Attempt.ExpiresAt.Add(late)
	holds := []Clause{SameLine, TaskTimeLeft, Unreported, NoCancelPending, AttemptsRemain, LeaseRuns, GraceRuns}
	is := func(c, instead Clause) { holds[slices.Index(holds, instead)] = c }
	if asked {
		l = cancelling(l)
		is(CancelPending, NoCancelPending)
	}
	if last {
		l = lastAttempt(l)
		is(AttemptLimit, AttemptsRemain)
	}
	if over {
		l.Host.Incarnation = lineSpan
		is(TakenOver, SameLine)
	}
	if overtime {
		l.Task.Timeout = time.Second
		l.Attempt.DispatchedAt = now.Add(-time.Second - 2*policy.TTL - 1)
		is(TaskTimePassed, TaskTimeLeft)
	}
	if state == phonebooth.AttemptAssigned {
		l.Attempt.DispatchedAt = time.Time{}
	}
	if late >= 0 {
		is(LeasePast, LeaseRuns)
	}
	if late >= policy.Grace {
		is(GracePast, GraceRuns)
	}
	name := fmt.Sprintf("%s, cancel asked %v, last %v, taken over %v, overtime %v, late %v", state, asked, last, over, overtime, late)
	return everyVerb(name, l, now, holds)
}

// onEnded tries every verb on an attempt that has ended.
func onEnded(status phonebooth.Status, newer, claimed bool, reported phonebooth.Outcome) []situation {
	l := endedLive()
	l.Task.Status = status
	holds := []Clause{Claimed}
	if !claimed {
		l.Attempt.DispatchedAt, holds = time.Time{}, []Clause{NeverClaimed}
	}
	if newer {
		l.Task.Attempt++
	}
	if reported != "" {
		l.Attempt.Reported = &phonebooth.Report{Outcome: reported}
	} else {
		holds = append(holds, Unreported)
	}
	name := fmt.Sprintf("ended, task %s, newer %v, claimed %v, reported %q", status, newer, claimed, reported)
	return everyVerb(name, l, after(100), holds)
}

var reporting = []Verb{VerbReportDone, VerbReportFailed, VerbReportCancelled, VerbAbandon}

func everyVerb(name string, l Live, now time.Time, holds []Clause) []situation {
	on := func(verb Verb, call func() (Change, error)) situation {
		return situation{string(verb) + " " + name, verb, l.Task.Status, l.Attempt.State, holds, call}
	}
	all := []situation{
		on(VerbClaim, func() (Change, error) { return Claim(l, hostA, "claim-9", l.Host.Incarnation, policy, now) }),
		on(VerbExpire, func() (Change, error) { return Expire(l, policy, now) }),
		on(VerbRelease, func() (Change, error) { return Release(l, now) }),
		on(VerbRenew, func() (Change, error) {
			c, r, err := Renew(l, hostA, policy, now)
			if r.Lost != "" {
				err = errors.Join(err, leaseLost(l, r.Lost))
			}
			return c, err
		}),
	}
	outcomes := []phonebooth.Outcome{phonebooth.OutcomeDone, phonebooth.OutcomeFailed, phonebooth.OutcomeCancelled, phonebooth.OutcomeAbandoned}
	for i, verb := range reporting {
		s := on(verb, func() (Change, error) {
			c, f, err := Finish(l, hostA, l.Host.Incarnation, report(outcomes[i]), DeviceWord{}, policy, now)
			if f.Refusal != nil {
				err = errors.Join(err, f.Refusal)
			}
			return c, err
		})
		if r := l.Attempt.Reported; r != nil && r.Outcome == outcomes[i] {
			s.holds = append(slices.Clone(holds), ReportedSame)
		} else if r != nil {
			s.holds = append(slices.Clone(holds), ReportedOtherwise)
		}
		all = append(all, s)
	}
	return all
}
