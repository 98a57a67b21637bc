package agent_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
)

// scripted is a control plane of one host, in memory: it keeps leases by the protocol's rules and everything that it was told.
type scripted struct {
	policy lifecycle.Policy

	mu            sync.Mutex
	next          chan struct{} // closed with each change
	down          bool
	deaf          bool          // to logs and artifacts
	holdArtifacts chan struct{} // artifacts are taken when it is closed; nil: at once
	tooLarge      int64         // artifacts of more bytes are refused; 0: none are
	removed       time.Time     // from the pool; zero: not
	incarnation   int64
	startID       string
	assigned      []*held
	leases        map[string]*held
	claims        map[string][]*held
	inventory     v1.InventoryRequest // the newest
	confirm       map[string]int64
	probe         map[string]int64 // of the quarantined
	calls         []string         // in order: "start", "claim", "report done", ...
	claimMax      []int
	parked        int
	loseAnswers   int // so many claims are carried out and not answered
	refuse        func(v1.ReportRequest) error
}

// held is one attempt.
type held struct {
	v1.Assignment
	claimed  bool
	cancel   bool
	lost     string
	expires  time.Time
	renewals int
	report   *v1.ReportRequest
	late     *v1.ReportRequest
	log      []byte // what the runner wrote
	device   []byte
	events   []byte
	ends     map[string]int64  // of logs, as the agent told them
	files    map[string]string // artifacts by name
}

var errDown = errors.New("no route to the control plane")

func newScripted(ttl time.Duration) *scripted {
	return &scripted{policy: lifecycle.NewPolicy(ttl), next: make(chan struct{}), leases: map[string]*held{}, claims: map[string][]*held{}}
}

// changed must be called with mu held.
func (s *scripted) changed() {
	close(s.next)
	s.next = make(chan struct{})
}

// do changes the script.
func (s *scripted) do(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	s.changed()
}

// until waits until ok holds of what the control plane knows.
func (s *scripted) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	timeout := time.After(patience)
	for {
		s.mu.Lock()
		met, next := ok(), s.next
		calls := slices.Clone(s.calls)
		s.mu.Unlock()
		if met {
			return
		}
		select {
		case <-next:
		case <-timeout:
			t.Fatalf("not seen: %s; calls: %q", what, calls)
		}
	}
}

// assign gives the host an attempt on a device.
func (s *scripted) assign(device string, task v1.AgentTask) *held {
	h := &held{}
	s.do(func() {
		n := len(s.leases) + 1
		task.ID = "task_" + strconv.Itoa(n)
		if task.TimeoutMS == 0 {
			task.TimeoutMS = time.Hour.Milliseconds()
		}
		h.Assignment = v1.Assignment{
			LeaseID: fmt.Sprintf("lease_secret%d", n), DeviceID: "device_" + device, DeviceKey: "sim:" + device, Attempt: 1, Task: task,
		}
		s.leases[h.LeaseID] = h
		s.assigned = append(s.assigned, h)
	})
	return h
}

// goal gives the host a goal for the fake runner.
func (s *scripted) goal(device, goal string) *held { return s.assign(device, v1.AgentTask{Goal: goal}) }

// shell gives the host a goal for the runner that is a shell.
func (s *scripted) shell(device, goal string) *held {
	return s.assign(device, v1.AgentTask{Goal: goal, Runner: "shell"})
}

// ended waits for the report of h.
func (s *scripted) ended(t *testing.T, h *held) v1.ReportRequest {
	t.Helper()
	s.until(t, "a report for "+h.Task.ID, func() bool { return h.report != nil || h.late != nil })
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.report == nil {
		return *h.late
	}
	return *h.report
}

// logged waits until the log of h holds text.
func (s *scripted) logged(t *testing.T, h *held, text string) {
	t.Helper()
	s.until(t, fmt.Sprintf("%q in the log of %s", text, h.Task.ID), func() bool { return contains(h.log, text) })
}

// condition waits until the newest word on a device says so.
func (s *scripted) condition(t *testing.T, device string, want phonebooth.Condition) {
	t.Helper()
	s.until(t, device+" is "+string(want), func() bool { return s.conditionOf(device) == want })
}

func (s *scripted) conditionOf(device string) phonebooth.Condition {
	for _, d := range s.inventory.Devices {
		if d.Key == "sim:"+device {
			return phonebooth.Condition(d.Condition)
		}
	}
	return ""
}

func (s *scripted) enter(call string) error {
	if s.down {
		return errDown
	}
	s.calls = append(s.calls, call)
	return nil
}

func (s *scripted) current(incarnation int64) error {
	return lifecycle.CheckIncarnation(phonebooth.Host{Incarnation: s.incarnation, RemovedAt: s.removed}, incarnation)
}

func (s *scripted) Start(_ context.Context, r v1.IncarnationRequest) (v1.IncarnationAnswer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter("start"); err != nil {
		return v1.IncarnationAnswer{}, err
	}
	_, h, err := lifecycle.Start(phonebooth.Host{Incarnation: s.incarnation, StartID: s.startID}, r.StartID, r.Previous, r.TakeOver, r.Version, time.Now())
	if err != nil {
		return v1.IncarnationAnswer{}, err
	}
	s.incarnation, s.startID = h.Incarnation, h.StartID
	s.changed()
	answer := v1.IncarnationAnswer{Incarnation: s.incarnation, Timing: v1.Timing{
		LeaseMS: s.policy.TTL.Milliseconds(), RenewMS: s.policy.RenewEvery().Milliseconds(), HeartbeatMS: s.policy.Heartbeat.Milliseconds(),
	}}
	for _, h := range s.leases {
		if h.claimed && h.report == nil && h.lost == "" {
			answer.Leases = append(answer.Leases, v1.HeldLease{
				LeaseID: h.LeaseID, TaskID: h.Task.ID, Attempt: h.Attempt, DeviceID: h.DeviceID, DeviceKey: h.DeviceKey,
			})
		}
	}
	return answer, nil
}

func (s *scripted) Inventory(_ context.Context, r v1.InventoryRequest) (v1.InventoryAnswer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter("inventory"); err != nil {
		return v1.InventoryAnswer{}, err
	}
	if err := s.current(r.Incarnation); err != nil {
		return v1.InventoryAnswer{}, err
	}
	if r.Incarnation > s.inventory.Incarnation || r.Seq > s.inventory.Seq {
		s.inventory = r
	}
	for _, d := range r.Devices {
		if n, ok := s.confirm[d.Key]; ok && d.Confirm == n {
			delete(s.confirm, d.Key)
		}
	}
	s.changed()
	answer := v1.InventoryAnswer{Confirm: map[string]int64{}, Probe: maps.Clone(s.probe)}
	for key, n := range s.confirm {
		answer.Confirm[key] = n
	}
	return answer, nil
}

func (s *scripted) Claim(ctx context.Context, r v1.ClaimRequest) (v1.ClaimAnswer, error) {
	began := time.Now()
	timer := time.NewTimer(time.Duration(r.WaitMS) * time.Millisecond)
	defer timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter("claim"); err != nil {
		return v1.ClaimAnswer{}, err
	}
	s.claimMax = append(s.claimMax, r.Max)
	s.parked++
	mine := s.parked
	s.changed()
	for {
		if err := s.current(r.Incarnation); err != nil {
			return v1.ClaimAnswer{}, err
		}
		if got := s.hand(r); len(got) > 0 {
			if s.loseAnswers > 0 {
				s.loseAnswers--
				return v1.ClaimAnswer{}, errDown
			}
			return s.answer(got, time.Since(began)), nil
		}
		next := s.next
		s.mu.Unlock()
		ended := error(nil)
		over := false
		select {
		case <-next:
		case <-timer.C:
			over = true
		case <-ctx.Done():
			ended = ctx.Err()
		}
		s.mu.Lock()
		switch {
		case ended != nil:
			return v1.ClaimAnswer{}, ended
		case s.down:
			return v1.ClaimAnswer{}, errDown
		case over || s.parked != mine:
			return v1.ClaimAnswer{}, nil
		}
	}
}

func (s *scripted) hand(r v1.ClaimRequest) []*held {
	if spent := s.claims[r.ClaimID]; len(spent) > 0 {
		return spent
	}
	var got []*held
	s.assigned = slices.DeleteFunc(s.assigned, func(h *held) bool {
		if len(got) == r.Max || !s.free(h.DeviceKey) {
			return false
		}
		h.claimed, h.expires = true, time.Now().Add(s.policy.TTL)
		got = append(got, h)
		return true
	})
	if len(got) > 0 {
		s.claims[r.ClaimID] = got
		s.changed()
	}
	return got
}

// free reports whether a device can take an attempt. One that the host never told of can: that is for the host to refuse.
func (s *scripted) free(key string) bool {
	for _, h := range s.leases {
		if h.DeviceKey == key && h.claimed && h.report == nil && h.lost == "" {
			return false
		}
	}
	condition := s.conditionOf(strings.TrimPrefix(key, "sim:"))
	return condition == phonebooth.Ready || condition == ""
}

func (s *scripted) answer(got []*held, parked time.Duration) v1.ClaimAnswer {
	var answer v1.ClaimAnswer
	for _, h := range got {
		a := h.Assignment
		left := time.Until(h.expires)
		a.CancelRequested, a.LeaseMS, a.FenceMS = h.cancel, left.Milliseconds(), (left - s.policy.FenceMargin).Milliseconds()
		a.ParkedMS = parked.Milliseconds()
		answer.Assignments = append(answer.Assignments, a)
	}
	return answer
}

func (s *scripted) Renew(_ context.Context, r v1.RenewalRequest) (v1.RenewalAnswer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter("renew"); err != nil {
		return v1.RenewalAnswer{}, err
	}
	if err := s.current(r.Incarnation); err != nil {
		return v1.RenewalAnswer{}, err
	}
	var answer v1.RenewalAnswer
	for _, id := range r.LeaseIDs {
		h := s.leases[id]
		if h.lost == "" && time.Now().After(h.expires) {
			h.lost = "expired"
		}
		if h.lost != "" {
			answer.Leases = append(answer.Leases, v1.Renewal{LeaseID: id, Lost: h.lost})
			continue
		}
		h.renewals++
		h.expires = time.Now().Add(s.policy.TTL)
		answer.Leases = append(answer.Leases, v1.Renewal{
			LeaseID: id, CancelRequested: h.cancel, LeaseMS: s.policy.TTL.Milliseconds(), FenceMS: (s.policy.TTL - s.policy.FenceMargin).Milliseconds(),
		})
	}
	s.changed()
	return answer, nil
}

func (s *scripted) Report(_ context.Context, r v1.ReportRequest) (v1.ReportAnswer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter("report " + r.Outcome); err != nil {
		return v1.ReportAnswer{}, err
	}
	if err := s.current(r.Incarnation); err != nil {
		return v1.ReportAnswer{}, err
	}
	defer s.changed()
	if s.refuse != nil {
		if err := s.refuse(r); err != nil {
			return v1.ReportAnswer{}, err
		}
	}
	h := s.leases[r.LeaseID]
	if h.lost == "" && time.Now().After(h.expires.Add(s.policy.Grace)) {
		h.lost = "expired"
	}
	switch {
	case h.report != nil && h.report.Outcome == r.Outcome:
		return v1.ReportAnswer{}, nil
	case h.report != nil:
		return v1.ReportAnswer{}, phonebooth.Errorf(phonebooth.Conflict, "report_conflict", "reported before")
	case h.lost != "":
		h.late = &r
		return v1.ReportAnswer{}, phonebooth.Errorf(phonebooth.Conflict, "lease_lost", "lost").With("reason", h.lost)
	}
	h.report = &r
	for i, d := range s.inventory.Devices {
		if d.Key == h.DeviceKey && r.Condition != "" && r.Seq > s.inventory.Seq {
			s.inventory.Devices[i].Condition, s.inventory.Seq = r.Condition, r.Seq
		}
	}
	return v1.ReportAnswer{}, nil
}

func (s *scripted) AppendLog(_ context.Context, leaseID, name string, offset int64, p []byte) (v1.LogAnswer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter("log"); err != nil {
		return v1.LogAnswer{}, err
	}
	if s.deaf {
		return v1.LogAnswer{}, errDown
	}
	h := s.leases[leaseID]
	log := map[string]*[]byte{v1.LogRunner: &h.log, v1.LogDevice: &h.device, v1.LogEvents: &h.events, v1.Artifacts: new([]byte)}[name]
	have := int64(len(*log))
	if offset > have {
		return v1.LogAnswer{}, phonebooth.Errorf(phonebooth.Conflict, "log_gap", "gap").With("next", strconv.FormatInt(have, 10))
	}
	if end := offset + int64(len(p)); end > have {
		*log = append(*log, p[have-offset:]...)
	}
	s.changed()
	return v1.LogAnswer{Next: int64(len(*log))}, nil
}

func (s *scripted) EndLog(_ context.Context, leaseID, name string, size int64) error {
	answer, err := s.AppendLog(context.Background(), leaseID, name, size, nil)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.leases[leaseID]
	if h.ends == nil {
		h.ends = map[string]int64{}
	}
	h.ends[name] = answer.Next
	s.changed()
	return nil
}

func (s *scripted) PutArtifact(ctx context.Context, leaseID, name string, size int64, sha256hex string, body io.Reader) error {
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	s.mu.Lock()
	hold := s.holdArtifacts
	s.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return errDown
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter("artifact"); err != nil {
		return err
	}
	if s.deaf {
		return errDown
	}
	if sum := sha256.Sum256(text); int64(len(text)) != size || hex.EncodeToString(sum[:]) != sha256hex {
		return phonebooth.Errorf(phonebooth.Invalid, "invalid", "not the bytes that were announced")
	}
	if s.tooLarge > 0 && size > s.tooLarge {
		return phonebooth.Errorf(phonebooth.TooLarge, "too_large", "too large")
	}
	h := s.leases[leaseID]
	if h.files == nil {
		h.files = map[string]string{}
	}
	h.files[name] = string(text)
	s.changed()
	return nil
}
