package servertest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

// Host is a scripted host: it speaks the agent's protocol and does exactly what a test says.
type Host struct {
	sys         *System
	ID          string
	token       string
	devices     []v1.Sighting
	incarnation int64
	seq         atomic.Int64
	claims      atomic.Int64

	mu      sync.Mutex
	ids     map[string]string // device ids by key
	confirm map[string]int64
}

// Phone is a ready android device with the key and name given.
func Phone(key string) v1.Sighting {
	return v1.Sighting{Key: key, Name: key, DriverType: "android", Condition: "ready", Runners: []string{"fake"}, Fence: "process"}
}

// Host enrolls a host, starts it, sends its inventory, and says that it listens.
func (s *System) Host(t *testing.T, name string, devices ...v1.Sighting) *Host {
	t.Helper()
	enrollment := must[v1.Enrollment](t, s, "POST", v1.PathEnrollment, v1.EnrollmentRequest{Name: name})
	h := &Host{sys: s, devices: devices, token: fmt.Sprintf("secret-of-%s-%032d", name, time.Now().UnixNano())}
	var enrolled v1.EnrollAnswer
	err := s.call(t.Context(), "", "POST", v1.PathAgentEnroll, nil, v1.EnrollRequest{Token: enrollment.Token, Secret: h.token, Name: name}, &enrolled)
	if err != nil {
		t.Fatalf("enroll host %s: %v", name, err)
	}
	h.ID = enrolled.HostID
	h.MustStart(t, 0, false)
	h.MustInventory(t)
	h.MustClaim(t, "claim-hello-"+name, 0, 0)
	return h
}

// Start begins a new life of the host's agent.
func (h *Host) Start(t *testing.T, previous int64, takeOver bool) (answer v1.IncarnationAnswer, err error) {
	req := v1.IncarnationRequest{StartID: fmt.Sprintf("start-%d", time.Now().UnixNano()), Previous: previous, TakeOver: takeOver}
	err = h.call(t, v1.PathAgentIncarnation, req, &answer)
	if err == nil {
		h.incarnation = answer.Incarnation
		h.seq.Store(0)
	}
	return answer, err
}

// MustStart is a Start that is accepted.
func (h *Host) MustStart(t *testing.T, previous int64, takeOver bool) v1.IncarnationAnswer {
	t.Helper()
	answer, err := h.Start(t, previous, takeOver)
	if err != nil {
		t.Fatalf("start host: %v", err)
	}
	return answer
}

// Through is the same host, talking to another control plane on the same database.
func (h *Host) Through(sys *System) *Host {
	return &Host{sys: sys, ID: h.ID, token: h.token, devices: h.devices, incarnation: h.incarnation}
}

// NextSeq draws the next number of what the host says.
func (h *Host) NextSeq() int64 { return h.seq.Add(1) }

// MustInventory sends the full list, and again at once when a device must be confirmed, as an agent does.
func (h *Host) MustInventory(t *testing.T) {
	t.Helper()
	for range 2 {
		if !h.InventoryAs(t, h.NextSeq()) {
			return
		}
	}
}

// InventoryAs sends the full list under seq; it reports whether a device must be confirmed.
func (h *Host) InventoryAs(t *testing.T, seq int64) bool {
	t.Helper()
	req := v1.InventoryRequest{Incarnation: h.incarnation, Seq: seq, Devices: append([]v1.Sighting{}, h.devices...)}
	h.mu.Lock()
	for i := range req.Devices {
		req.Devices[i].Confirm = h.confirm[req.Devices[i].Key]
	}
	h.mu.Unlock()
	var answer v1.InventoryAnswer
	if err := h.call(t, v1.PathAgentInventory, req, &answer); err != nil {
		t.Fatalf("inventory: %v", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ids, h.confirm = answer.DeviceIDs, answer.Confirm
	return len(answer.Confirm) > 0
}

// SetDevices replaces what the next inventory says.
func (h *Host) SetDevices(devices ...v1.Sighting) { h.devices = devices }

// DeviceID is the id of the device that the host knows under key.
func (h *Host) DeviceID(key string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ids[key]
}

// Claim asks for work once.
func (h *Host) Claim(t *testing.T, claimID string, n int, wait time.Duration) ([]v1.Assignment, error) {
	var answer v1.ClaimAnswer
	err := h.call(t, v1.PathAgentClaims, v1.ClaimRequest{Incarnation: h.incarnation, ClaimID: claimID, Max: n, WaitMS: wait.Milliseconds()}, &answer)
	return answer.Assignments, err
}

// Park asks for work and gives the whole answer.
func (h *Host) Park(t *testing.T, wait time.Duration) (answer v1.ClaimAnswer) {
	req := v1.ClaimRequest{Incarnation: h.incarnation, ClaimID: fmt.Sprintf("claim-park-%d", h.claims.Add(1)), Max: 1, WaitMS: wait.Milliseconds()}
	if err := h.call(t, v1.PathAgentClaims, req, &answer); err != nil {
		t.Errorf("claim: %v", err)
	}
	return answer
}

// MustClaim is a Claim that is not refused; it may be answered empty.
func (h *Host) MustClaim(t *testing.T, claimID string, n int, wait time.Duration) []v1.Assignment {
	t.Helper()
	got, err := h.Claim(t, claimID, n, wait)
	if err != nil && t.Context().Err() == nil {
		t.Errorf("claim: %v", err)
	}
	return got
}

// ClaimOne claims until there is one assignment.
func (h *Host) ClaimOne(t *testing.T) v1.Assignment {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if got := h.MustClaim(t, fmt.Sprintf("claim-%06d", h.claims.Add(1)), 1, 2*time.Second); len(got) == 1 {
			return got[0]
		}
		if t.Failed() {
			break
		}
	}
	t.Fatalf("host %s got no assignment", h.ID)
	return v1.Assignment{}
}

// ClaimOneAs claims one assignment under a claim id that was not used before.
func (h *Host) ClaimOneAs(t *testing.T, claimID string) v1.Assignment {
	t.Helper()
	got := h.MustClaim(t, claimID, 1, 20*time.Second)
	if len(got) != 1 {
		t.Fatalf("claim %s got %+v, want one assignment", claimID, got)
	}
	return got[0]
}

// Renew renews leases in one call.
func (h *Host) Renew(t *testing.T, leases ...string) ([]v1.Renewal, error) {
	var answer v1.RenewalAnswer
	err := h.call(t, v1.PathAgentRenewals, v1.RenewalRequest{Incarnation: h.incarnation, LeaseIDs: leases}, &answer)
	if err == nil && len(answer.Leases) != len(leases) {
		err = fmt.Errorf("renewals %+v, want one for each of %d leases", answer.Leases, len(leases))
	}
	return answer.Leases, err
}

// MustRenew is a Renew that is answered.
func (h *Host) MustRenew(t *testing.T, leases ...string) []v1.Renewal {
	t.Helper()
	renewals, err := h.Renew(t, leases...)
	if err != nil {
		t.Fatalf("renew: %v", err)
	}
	return renewals
}

// Report tells how an attempt ended. Incarnation and seq are filled in.
func (h *Host) Report(t *testing.T, req v1.ReportRequest) (answer v1.ReportAnswer, err error) {
	req.Incarnation, req.Seq = h.incarnation, h.NextSeq()
	err = h.call(t, v1.PathAgentReports, req, &answer)
	return answer, err
}

// MustReport is a Report that is accepted.
func (h *Host) MustReport(t *testing.T, req v1.ReportRequest) v1.ReportAnswer {
	t.Helper()
	answer, err := h.Report(t, req)
	if err != nil {
		t.Fatalf("report %s: %v", req.Outcome, err)
	}
	return answer
}

// AppendLog sends bytes of what the runner wrote.
func (h *Host) AppendLog(t *testing.T, lease string, offset int64, text string) (int64, error) {
	t.Helper()
	return h.AppendLogOf(t, lease, v1.LogRunner, offset, text)
}

// AppendLogOf sends bytes of one of the attempt's logs.
func (h *Host) AppendLogOf(t *testing.T, lease, name string, offset int64, text string) (int64, error) {
	t.Helper()
	status, body, err := h.sys.send(t.Context(), h.token, "POST", fmt.Sprintf("%s/%s/log?name=%s&offset=%d", v1.PathAgentLeases, lease, name, offset),
		http.Header{"Content-Type": {"application/octet-stream"}}, []byte(text))
	if err != nil {
		return 0, err
	}
	var answer v1.LogAnswer
	return answer.Next, decode(status, body, &answer)
}

// Token is the host's secret.
func (h *Host) Token() string { return h.token }

// PutArtifact stores a file that an attempt left, as an agent does.
func (h *Host) PutArtifact(t *testing.T, lease, name, content string) error {
	t.Helper()
	sum := sha256.Sum256([]byte(content))
	return h.Agent(t).PutArtifact(t.Context(), lease, name, int64(len(content)), hex.EncodeToString(sum[:]), strings.NewReader(content))
}

// Agent is a client of the control plane as the agent of the host.
func (h *Host) Agent(t *testing.T) *client.Agent {
	t.Helper()
	c, err := client.New("http://"+h.sys.listen, h.token, client.Options{})
	if err != nil {
		t.Fatalf("make a client: %v", err)
	}
	return c.Agent(h.ID)
}

func (h *Host) call(t *testing.T, path string, body, out any) error {
	return h.sys.call(t.Context(), h.token, map[bool]string{true: "PUT", false: "POST"}[path == v1.PathAgentInventory], path, nil, body, out)
}
