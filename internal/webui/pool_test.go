package webui_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// phones are the models of the pool that people see on pictures.
var phones = []struct{ name, driver, model, api string }{
	{"pixel-8", "android", "Pixel_8", "api:34"},
	{"pixel-7a", "android", "Pixel_7a", "api:34"},
	{"galaxy-s24", "android", "SM-S921B", "api:34"},
	{"galaxy-a54", "android", "SM-A546B", "api:33"},
	{"pixel-fold", "android", "Pixel_Fold", "api:34"},
	{"xperia-5", "android", "XQ-DE54", "api:33"},
	{"iphone-15", "ios", "iPhone15,4", "ios:17"},
	{"iphone-13", "ios", "iPhone14,5", "ios:16"},
	{"chromium", "webdriver", "Chromium", "web"},
	{"emulator", "android", "sdk_gphone64", "api:35"},
}

var goals = []string{
	"Open Settings and turn on dark mode", "Log in as the demo user and read the balance", "Install build 4812 and run the smoke suite",
	"Order a coffee for pickup and stop before paying", "Send a message to yourself and check that it arrives",
	"Check that the onboarding fits a small screen", "Search for a train to Lyon tomorrow at nine", "Take a screenshot of every tab of the app",
	"Rotate the device during video playback", "Accept the cookie banner and open the newest article", "Book a table for two and cancel it again",
}

var failures = []phonebooth.Failure{
	{Code: "runner_failed", Message: "expected “Dark theme” to be on, it is off"},
	{Code: "runner_failed", Message: "the login button was not found in 20 s"},
	{Code: "timeout", Message: "the task ran longer than its 300 s"},
}

// made is a pool with hours behind it.
type made struct {
	past
	now  time.Time
	dice *rand.Rand
	n    int
}

func (m *made) id(prefix string) string {
	m.n++
	const letters = "0123456789abcdefghjkmnpqrstvwxyz"
	text := []byte(prefix + "_")
	for range 26 {
		text = append(text, letters[m.dice.IntN(len(letters))])
	}
	return string(text)
}

func (m *made) event(at time.Time, e phonebooth.Event) {
	e.At = at
	if e.Actor == "" {
		e.Actor = "admin"
	}
	m.events = append(m.events, e)
}

// rack is a pool as a team has it: four hosts, some two dozen devices, and what they did in the last hours.
func rack(now time.Time) *made {
	m := &made{now: now, dice: rand.New(rand.NewPCG(7, 7))}
	for i, name := range []string{"rack-1", "rack-2", "studio-mac", "lab-bench"} {
		h := phonebooth.Host{
			ID: phonebooth.HostID(m.id("host")), Name: name, Version: "0.4.0", HeardAt: now, PolledAt: now, RegisteredAt: now.Add(-time.Hour*24*30 + time.Duration(i)*time.Minute),
		}
		if name == "lab-bench" {
			h.SilentSince = now.Add(-11 * time.Minute)
			m.event(h.SilentSince, phonebooth.Event{Kind: phonebooth.HostSilent, HostID: h.ID, Actor: "sweep", Detail: phonebooth.EventDetail{Name: name}})
		}
		m.hosts = append(m.hosts, h)
	}
	for i := range 26 {
		m.addDevice(i)
	}
	for i := range m.devices {
		m.live(i)
	}
	m.queue()
	m.workflows = append(m.workflows,
		phonebooth.Workflow{WorkflowRef: phonebooth.WorkflowRef{Name: "checkout-smoke", Version: 3}, Hash: "a", CreatedAt: now.Add(-50 * time.Hour), Source: checkout},
		phonebooth.Workflow{WorkflowRef: phonebooth.WorkflowRef{Name: "nightly-login", Version: 1}, Hash: "b", CreatedAt: now.Add(-9 * time.Hour), Source: "version: steps/v1\nname: nightly-login\nsteps:\n- log in\n- log out\n"})
	return m
}

const checkout = `version: steps/v1
name: checkout-smoke
inputs:
  build:
    required: true
steps:
- name: Install the build
  uses: adb-shell
  with:
    goal: pm install -r /data/local/tmp/${{ inputs.build }}.apk
- name: Log in
  goal: Log in as the demo user
- name: Fill the basket
  goal: Put two coffees into the basket
- name: Check out
  goal: Pay with the test card and read the order number
  continue_on_error: true
- name: Screenshots
  uses: screenshot
`

func (m *made) addDevice(i int) {
	p := phones[i%len(phones)]
	host := m.hosts[i%3]
	if i >= 22 {
		host = m.hosts[3]
	}
	since := m.now.Add(-time.Duration(m.dice.IntN(7200)) * time.Second)
	tags := []string{p.driver, p.api, "model:" + p.model}
	if i%4 == 0 {
		tags = append(tags, "pool:checkout")
	}
	m.devices = append(m.devices, phonebooth.Device{
		ID: phonebooth.DeviceID(m.id("device")), HostID: host.ID, Key: fmt.Sprint("key-", i), Name: fmt.Sprintf("%s-%02d", p.name, i/len(phones)+1), DriverType: p.driver,
		Tags: tags, Runners: []string{"mobilerun", "maestro", "adb-shell"}, Fence: "gate", Condition: phonebooth.Ready, ConditionSince: since, Hold: phonebooth.NoHold,
		Attributes:   map[string]string{"manufacturer": "Google", "model": p.model, "serial": fmt.Sprintf("R5CT%06d", 20481+i*977), "battery": fmt.Sprint(40+i*2) + " %"},
		RegisteredAt: m.now.Add(-24*30*time.Hour + time.Duration(i)*time.Second), Rev: 1,
	})
}

// live writes the last three hours of a device, and gives it what it does now.
func (m *made) live(i int) {
	d := &m.devices[i]
	silent := d.HostID == m.hosts[3].ID
	at := m.now.Add(-3*time.Hour - time.Duration(m.dice.IntN(600))*time.Second)
	end := m.now.Add(-time.Duration(15+m.dice.IntN(150)) * time.Second)
	if ago, ok := map[int]time.Duration{3: 31 * time.Minute, 7: 19 * time.Minute, 12: 100 * time.Minute, 18: 8 * time.Minute}[i]; ok || silent {
		end = m.now.Add(-max(ago, 0))
		if silent {
			end = m.now.Add(-12 * time.Minute)
		}
	}
	for n := 0; ; n++ {
		long := time.Duration(20+m.dice.ExpFloat64()*110) * time.Second
		if at.Add(long + 12*time.Second).After(end) {
			break
		}
		m.ran(d, at, long)
		at = at.Add(long)
		m.condition(d, at, phonebooth.Cleaning, "")
		at = at.Add(time.Duration(3+m.dice.IntN(9)) * time.Second)
		m.condition(d, at, phonebooth.Ready, "")
		at = at.Add(time.Duration(m.dice.ExpFloat64()*70) * time.Second)
		if m.dice.IntN(40) == 0 {
			m.condition(d, at, phonebooth.Offline, "")
			at = at.Add(time.Duration(4+m.dice.IntN(14)) * time.Minute)
			m.condition(d, at, phonebooth.Ready, "")
		}
	}
	began := end
	switch {
	case silent:
	case i == 3:
		d.Hold, d.HoldReason, d.HoldSince = phonebooth.Quarantined, "3 attempts in a row failed within 10 s: device_lost", m.now.Add(-31*time.Minute)
		m.event(d.HoldSince, phonebooth.Event{Kind: phonebooth.DeviceHeld, DeviceID: d.ID, HostID: d.HostID, Actor: "sweep", Detail: phonebooth.EventDetail{Hold: d.Hold, Reason: d.HoldReason}})
	case i == 12:
		d.Hold, d.HoldReason, d.HoldSince = phonebooth.Cordoned, "its battery is swollen", m.now.Add(-100*time.Minute)
		m.event(d.HoldSince, phonebooth.Event{Kind: phonebooth.DeviceHeld, DeviceID: d.ID, HostID: d.HostID, Detail: phonebooth.EventDetail{Hold: d.Hold, Reason: d.HoldReason}})
	case i == 7:
		m.condition(d, m.now.Add(-19*time.Minute), phonebooth.Offline, "unplugged")
	case i == 15:
		m.condition(d, m.now.Add(-5*time.Second), phonebooth.Cleaning, "")
	case i == 18:
		m.condition(d, m.now.Add(-8*time.Minute), "unauthorized", "allow the computer on the phone's screen")
	case i%5 != 1 || d.DriverType == "ios":
		m.runs(d, began, i)
	}
}

func (m *made) condition(d *phonebooth.Device, at time.Time, c phonebooth.Condition, reason string) {
	if at.After(m.now) {
		at = m.now
	}
	d.Condition, d.ConditionReason, d.ConditionSince = c, reason, at
	m.event(at, phonebooth.Event{Kind: phonebooth.DeviceChanged, DeviceID: d.ID, HostID: d.HostID, Actor: "host:rack", Detail: phonebooth.EventDetail{Condition: c, Reason: reason}})
}

func (m *made) task(d *phonebooth.Device, at time.Time) phonebooth.Task {
	t := phonebooth.Task{
		ID: phonebooth.TaskID(m.id("task")), CreatedAt: at.Add(-time.Duration(1+m.dice.IntN(40)) * time.Second), Attempt: 1, DeviceID: d.ID, HostID: d.HostID, AssignedAt: at, DispatchedAt: at.Add(80 * time.Millisecond),
	}
	t.Goal, t.Timeout, t.MaxAttempts = goals[m.dice.IntN(len(goals))], 30*time.Minute, 3
	t.Constraints = phonebooth.Constraints{DriverType: d.DriverType}
	t.Labels = map[string]string{"team": []string{"checkout", "growth", "platform"}[m.dice.IntN(3)], "branch": []string{"main", "release-4.8"}[m.dice.IntN(2)]}
	if m.dice.IntN(6) == 0 {
		t.Goal, t.Workflow = "", &phonebooth.WorkflowRef{Name: "checkout-smoke", Version: 3}
	}
	return t
}

func (m *made) attempt(t phonebooth.Task) phonebooth.Attempt {
	return phonebooth.Attempt{
		AttemptKey: phonebooth.AttemptKey{TaskID: t.ID, Number: t.Attempt}, LeaseID: phonebooth.LeaseID(m.id("lease")), HostID: t.HostID, DeviceID: t.DeviceID,
		AssignedAt: t.AssignedAt, DispatchedAt: t.DispatchedAt, ExpiresAt: m.now.Add(25 * time.Second), State: phonebooth.AttemptDispatched, Incarnation: 1, ClaimID: m.id("claim"),
	}
}

// begun tells of a task up to its claim.
func (m *made) begun(t phonebooth.Task) {
	of := func(kind phonebooth.EventKind, at time.Time, actor string, detail phonebooth.EventDetail) {
		e := phonebooth.Event{Kind: kind, TaskID: t.ID, Actor: actor, Labels: t.Labels, Detail: detail}
		if kind != phonebooth.TaskSubmitted {
			e.Attempt, e.DeviceID, e.HostID = t.Attempt, t.DeviceID, t.HostID
		}
		m.event(at, e)
	}
	of(phonebooth.TaskSubmitted, t.CreatedAt, "admin", phonebooth.EventDetail{Status: phonebooth.Queued})
	if t.Attempt > 0 {
		of(phonebooth.TaskAssigned, t.AssignedAt, "scheduler", phonebooth.EventDetail{Status: phonebooth.Assigned, Strategy: "fifo_match"})
		of(phonebooth.TaskDispatched, t.DispatchedAt, "host:rack-1", phonebooth.EventDetail{Status: phonebooth.Dispatched})
	}
}

// ran adds a task that has ended.
func (m *made) ran(d *phonebooth.Device, at time.Time, long time.Duration) {
	t := m.task(d, at)
	m.begun(t)
	a := m.attempt(t)
	a.State, a.EndedAt, a.Ending = phonebooth.AttemptEnded, at.Add(long), phonebooth.EndedDone
	t.Status, t.FinishedAt = phonebooth.Done, a.EndedAt
	outcome, kind := phonebooth.OutcomeDone, phonebooth.TaskDone
	switch n := m.dice.IntN(100); {
	case n < 9:
		f := failures[m.dice.IntN(len(failures))]
		t.Status, t.Failure, a.Ending, a.Reason, outcome, kind = phonebooth.Failed, &f, phonebooth.EndedFailed, f, phonebooth.OutcomeFailed, phonebooth.TaskFailed
	case n < 13:
		t.Status, a.Ending, outcome, kind = phonebooth.Cancelled, phonebooth.EndedCancelled, phonebooth.OutcomeCancelled, phonebooth.TaskCancelled
	}
	a.Reported = &phonebooth.Report{Outcome: outcome, Failure: a.Reason, Runner: "mobilerun", Fence: "gate"}
	m.tasks, m.attempts = append(m.tasks, t), append(m.attempts, a)
	m.event(a.EndedAt, phonebooth.Event{
		Kind: kind, TaskID: t.ID, Attempt: 1, DeviceID: d.ID, HostID: d.HostID, Actor: "host:rack-1", Labels: t.Labels,
		Detail: phonebooth.EventDetail{Status: t.Status, Code: a.Reason.Code, Message: a.Reason.Message, Outcome: outcome},
	})
}

// runs adds a task that runs on d.
func (m *made) runs(d *phonebooth.Device, at time.Time, i int) {
	t := m.task(d, at)
	t.Status = phonebooth.Dispatched
	m.begun(t)
	a := m.attempt(t)
	d.Condition = phonebooth.Leased
	m.tasks, m.attempts = append(m.tasks, t), append(m.attempts, a)
	m.reserve = append(m.reserve, phonebooth.Reservation{DeviceID: d.ID, Attempt: a.AttemptKey, Since: a.AssignedAt})
}

// queue adds tasks that wait: for devices that are all taken, or that there are none of.
func (m *made) queue() {
	add := func(n int, oldest time.Duration, c phonebooth.Constraints) {
		for i := range n {
			t := phonebooth.Task{ID: phonebooth.TaskID(m.id("task")), Status: phonebooth.Queued, CreatedAt: m.now.Add(-oldest * time.Duration(n-i) / time.Duration(n))}
			t.Goal, t.Timeout, t.MaxAttempts, t.Constraints = goals[m.dice.IntN(len(goals))], 30*time.Minute, 3, c
			t.Labels = map[string]string{"team": "checkout"}
			m.begun(t)
			m.tasks = append(m.tasks, t)
		}
	}
	add(14, 6*time.Minute, phonebooth.Constraints{DriverType: "ios"})
	add(5, 3*time.Minute, phonebooth.Constraints{DriverType: "android", Tags: []string{"model:Pixel_Fold"}, HostID: m.hosts[3].ID})
	add(2, 47*time.Minute, phonebooth.Constraints{DriverType: "android", Tags: []string{"api:36"}})
	add(1, 20*time.Second, phonebooth.Constraints{Tags: []string{"android", "pool:chekout"}})
}
