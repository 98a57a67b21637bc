package httpapi_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
	"github.com/phonebooth-dev/phonebooth/internal/control"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
)

func TestAgentCallsAcceptWhatTheyDoNotKnow(t *testing.T) {
	t.Parallel()
	f := newScripted()
	f.invent = func(seen []lifecycle.Sighting) (control.InventoryAnswer, error) {
		if len(seen) != 1 || seen[0].Key != "usb:1" || seen[0].Condition != "ready" {
			t.Errorf("got %+v", seen)
		}
		return control.InventoryAnswer{DeviceIDs: map[string]phonebooth.DeviceID{"usb:1": "device_1"}, Confirm: map[string]int64{"usb:1": 4}}, nil
	}
	r := newRig(t, f)
	a := r.ask(t, "PUT", "/v1/agent/inventory?mood=good", `{"incarnation":1,"seq":2,"colour":"red","devices":[
		{"key":"usb:1","name":"Pixel","driver_type":"android","condition":"ready","shape":{"round":true}}]}`, asHost)
	if a.status != 200 || a.body != `{"device_ids":{"usb:1":"device_1"},"confirm":{"usb:1":4},"draining":false}`+"\n" {
		t.Errorf("got %d %s", a.status, a.body)
	}
}

func TestBadAgentCalls(t *testing.T) {
	t.Parallel()
	f := newScripted()
	f.report = func(phonebooth.Report) (phonebooth.Task, error) {
		return phonebooth.Task{}, phonebooth.Errorf(phonebooth.NotFound, "lease_unknown", "this host has no such lease")
	}
	r := newRig(t, f)
	sighting := `{"key":"k","name":"n","driver_type":"android","condition":"ready"`
	for _, tc := range []struct {
		name, path, body string
		status           int
		code, pointer    string
	}{
		{"no claim id", "claims", `{"incarnation":1,"max":1,"wait_ms":0}`, 422, "invalid", ""},
		{"waits too long", "claims", `{"incarnation":1,"claim_id":"12345678","max":1,"wait_ms":25001}`, 422, "invalid", "/wait_ms"},
		{"unknown outcome", "reports", `{"incarnation":1,"seq":1,"lease_id":"l","outcome":"` + secret + `"}`, 422, "invalid", "/outcome"},
		{"another host's lease", "reports", `{"incarnation":1,"seq":1,"lease_id":"` + leaseID + `","outcome":"done"}`, 404, "lease_unknown", ""},
		{"bad driver type", "inventory", `{"incarnation":1,"seq":1,"devices":[` + strings.Replace(sighting, "android", "an droid", 1) + `}]}`, 422, "invalid", "/devices/0/driver_type"},
		{"bad runner", "inventory", `{"incarnation":1,"seq":1,"devices":[` + sighting + `,"runners":["a","b/c"]}]}`, 422, "invalid", "/devices/0/runners/1"},
		{"empty tag", "inventory", `{"incarnation":1,"seq":1,"devices":[` + sighting + `,"tags":[""]}]}`, 422, "invalid", "/devices/0/tags/0"},
		{"no list", "renewals", `{"incarnation":1,"lease_ids":null}`, 422, "invalid", "/lease_ids"},
	} {
		method := "POST"
		if tc.path == "inventory" {
			method = "PUT"
		}
		a := r.ask(t, method, "/v1/agent/"+tc.path, tc.body, asHost)
		if a.status != tc.status || a.problem.Code != tc.code || a.problem.Extra["pointer"] != tc.pointer {
			t.Errorf("%s: got %d %s, want %d %s at %q", tc.name, a.status, a.body, tc.status, tc.code, tc.pointer)
		}
		if strings.Contains(a.body, secret) || strings.Contains(a.body, leaseID) {
			t.Errorf("%s: a value is echoed: %s", tc.name, a.body)
		}
	}
}

func TestAClaimTellsWhatIsLeft(t *testing.T) {
	t.Parallel()
	f := newScripted()
	f.claim = func(context.Context) ([]control.Claimed, error) {
		return []control.Claimed{{
			Live: lifecycle.Live{
				Device:  phonebooth.Device{ID: "device_1", Key: "usb:1"},
				Attempt: phonebooth.Attempt{LeaseID: leaseID, AttemptKey: phonebooth.AttemptKey{TaskID: "task_1", Number: 2}},
				Task: phonebooth.Task{
					ID: "task_1", Status: phonebooth.Dispatched, CancelRequestedAt: time.Unix(1, 0),
					TaskSpec: phonebooth.TaskSpec{
						Workflow: &phonebooth.WorkflowRef{Name: "w", Version: 3}, Inputs: []byte(`{"a":1}`), MaxAttempts: 3, Timeout: time.Minute,
						Constraints: phonebooth.Constraints{Runner: "fake"},
					},
				},
			},
			WorkflowSource: "steps: []", Lease: 30 * time.Second, Fence: 26 * time.Second, Parked: 1500 * time.Millisecond,
		}}, nil
	}
	a := newRig(t, f).ask(t, "POST", "/v1/agent/claims", `{"incarnation":1,"claim_id":"12345678","max":1,"wait_ms":0}`, asHost)
	want := `{"assignments":[{"lease_id":"` + leaseID + `","device_id":"device_1","device_key":"usb:1","attempt":2,"task":{"id":"task_1",` +
		`"workflow":{"name":"w","version":3},"workflow_source":"steps: []","inputs":{"a":1},"runner":"fake","timeout_ms":60000,"max_attempts":3},` +
		`"cancel_requested":true,"lease_ms":30000,"fence_ms":26000,"parked_ms":1500}]}` + "\n"
	if a.status != 200 || a.body != want {
		t.Errorf("got %d %s\nwant %s", a.status, a.body, want)
	}
}

func TestAnEmptyClaimIsAnEmptyList(t *testing.T) {
	t.Parallel()
	f := newScripted()
	f.claim = func(context.Context) ([]control.Claimed, error) { return nil, nil }
	a := newRig(t, f).ask(t, "POST", "/v1/agent/claims", `{"incarnation":1,"claim_id":"12345678","max":1,"wait_ms":0}`, asHost)
	if a.body != `{"assignments":[]}`+"\n" {
		t.Errorf("got %s", a.body)
	}
}

// TestWhateverARunnerSaysIsAccepted sends results that hold every sort of broken text through the client: the control plane
// must never refuse one for it, or its report would be repeated for ever.
func TestWhateverARunnerSaysIsAccepted(t *testing.T) {
	t.Parallel()
	f := newScripted()
	f.report = func(phonebooth.Report) (phonebooth.Task, error) { return phonebooth.Task{ID: "task_1"}, nil }
	r := newRig(t, f)
	c, err := client.New(r.URL, hostToken, client.Options{Patience: -1})
	if err != nil {
		t.Fatal(err)
	}
	pieces := []string{`\u0000`, `\ud83d`, `\uDCF1`, `\ud83d\udcf1`, `\\`, `\"`, `\n`, `u0000`, "\xff", "\xed\xa0\xbd", "é", "📱", "x"}
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(rt, "text"), "")
		_, err := c.Agent(hostID).Report(t.Context(), v1.ReportRequest{
			Incarnation: 1, Seq: 1, LeaseID: "l", Outcome: "failed", Message: text + "\x00", Result: []byte(`{"` + text + `":["` + text + `"]}`),
		})
		if err != nil {
			rt.Errorf("%q: %v", text, err)
		}
	})
}
