// Package bridgetest checks that a bridge keeps the contract of package bridge.
//
//	func TestContract(t *testing.T) {
//		bridgetest.Run(t, bridgetest.Harness{New: func(t *testing.T) bridge.Bridge { return sim.New(2) }})
//	}
//
// It is for tests only. The bridge must come to see at least one ready device; a harness that can take a device away
// and bring it back has that checked as well.
package bridgetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/bridge"
)

// Harness says what to check.
type Harness struct {
	// New makes a bridge that sees at least one ready device within half a minute.
	New func(t *testing.T) bridge.Bridge
	// Lose takes the device with this key away from the bridge, and Back brings it back. Nil: that is not checked.
	Lose, Back func(t *testing.T, b bridge.Bridge, key string)
}

// patience is how long a change may take to be seen: real programs on a busy machine are behind some bridges.
const patience = 30 * time.Second

// Run runs all checks as subtests.
func Run(t *testing.T, h Harness) {
	t.Run("the list makes sense", func(t *testing.T) { t.Parallel(); checkList(t, h) })
	t.Run("access", func(t *testing.T) { t.Parallel(); checkAccess(t, h) })
	if h.Lose != nil {
		t.Run("a device that leaves and comes back", func(t *testing.T) { t.Parallel(); checkLoss(t, h) })
	}
}

// Watched follows a bridge.
type Watched struct {
	mu   sync.Mutex
	list []bridge.Device
	next chan struct{} // closed with each new list
	busy bool
}

// Watch follows b until t ends. It checks that calls come one at a time and that Watch ends with its context.
func Watch(t testing.TB, b bridge.Bridge) *Watched {
	t.Helper()
	w := &Watched{next: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- b.Watch(ctx, func(list []bridge.Device) { w.take(t, list) }) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("Watch ended with %v, want its context's error", err)
			}
		case <-time.After(patience):
			t.Error("Watch did not end with its context")
		}
	})
	return w
}

func (w *Watched) take(t testing.TB, list []bridge.Device) {
	w.mu.Lock()
	if w.busy {
		t.Error("changed is called twice at one time")
	}
	w.busy = true
	w.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy, w.list = false, slices.Clone(list)
	close(w.next)
	w.next = make(chan struct{})
}

// Until waits for a list that ok accepts, and returns it.
func (w *Watched) Until(t testing.TB, what string, ok func([]bridge.Device) bool) []bridge.Device {
	t.Helper()
	timeout := time.After(patience)
	for {
		w.mu.Lock()
		list, next := w.list, w.next
		w.mu.Unlock()
		if ok(list) {
			return list
		}
		select {
		case <-next:
		case <-timeout:
			t.Fatalf("%s was not seen; the last list is %+v", what, list)
		}
	}
}

// Find is the device with this key, nil when there is none.
func Find(list []bridge.Device, key string) *bridge.Device {
	at := slices.IndexFunc(list, func(d bridge.Device) bool { return d.Key == key })
	if at < 0 {
		return nil
	}
	return &list[at]
}

func anyReady(list []bridge.Device) bool {
	return slices.ContainsFunc(list, func(d bridge.Device) bool { return d.Condition == phonebooth.Ready })
}

func (w *Watched) ready(t *testing.T) bridge.Device {
	t.Helper()
	list := w.Until(t, "a ready device", anyReady)
	return list[slices.IndexFunc(list, func(d bridge.Device) bool { return d.Condition == phonebooth.Ready })]
}

func checkList(t *testing.T, h Harness) {
	b := h.New(t)
	list := Watch(t, b).Until(t, "a ready device", anyReady)
	seen := map[string]bool{}
	for _, d := range list {
		switch {
		case d.Key == "" || seen[d.Key]:
			t.Errorf("key %q is empty or there twice", d.Key)
		case d.Name == "" || d.Condition == "" || !phonebooth.ValidName(d.DriverType):
			t.Errorf("device %+v lacks a name, a condition or a driver type", d)
		}
		if err := phonebooth.ValidTags("tags", d.Tags); err != nil {
			t.Errorf("device %s: %v", d.Key, err)
		}
		seen[d.Key] = true
	}
}

func checkAccess(t *testing.T, h Harness) {
	b := h.New(t)
	d := Watch(t, b).ready(t)
	if _, err := b.Open(t.Context(), d.Key+" that is not there", bridge.Lease{}); !errors.Is(err, bridge.ErrGone) {
		t.Errorf("opening a device that is not there: %v, want ErrGone", err)
	}
	var closed []bridge.Access
	for range 2 { // closing makes it free for the next
		access, err := b.Open(t.Context(), d.Key, bridge.Lease{})
		if err != nil {
			t.Fatalf("opening a ready device: %v", err)
		}
		checkClosed(t, closed) // whoever has the device now
		for _, entry := range access.Env() {
			if name, _, found := strings.Cut(entry, "="); !found || name == "" || strings.HasPrefix(name, "PHONEBOOTH_") || strings.ContainsRune(entry, 0) {
				t.Errorf("Env holds %q, want NAME=VALUE outside the contract's names", entry)
			}
		}
		if err := access.Probe(t.Context()); err != nil {
			t.Errorf("probing a ready device: %v", err)
		}
		access.Cut()
		access.Cut()
		for range 2 {
			if err := access.Close(t.Context()); err != nil {
				t.Errorf("closing: %v", err)
			}
		}
		closed = append(closed, access)
		checkClosed(t, closed)
	}
}

// checkClosed checks that the device is gone for those who have closed their access.
func checkClosed(t *testing.T, closed []bridge.Access) {
	t.Helper()
	for _, access := range closed {
		if err := access.Probe(t.Context()); !errors.Is(err, bridge.ErrGone) {
			t.Errorf("probing with an access that was closed: %v, want ErrGone", err)
		}
	}
}

func checkLoss(t *testing.T, h Harness) {
	b := h.New(t)
	w := Watch(t, b)
	d := w.ready(t)
	access, err := b.Open(t.Context(), d.Key, bridge.Lease{})
	if err != nil {
		t.Fatalf("opening a ready device: %v", err)
	}
	h.Lose(t, b, d.Key)
	w.Until(t, "the loss", func(list []bridge.Device) bool {
		seen := Find(list, d.Key)
		return seen == nil || seen.Condition != phonebooth.Ready
	})
	if err := access.Probe(t.Context()); !errors.Is(err, bridge.ErrGone) {
		t.Errorf("probing a device that left: %v, want ErrGone", err)
	}
	if _, err := b.Open(t.Context(), d.Key, bridge.Lease{}); !errors.Is(err, bridge.ErrGone) {
		t.Errorf("opening a device that left: %v, want ErrGone", err)
	}
	h.Back(t, b, d.Key)
	w.Until(t, "the return under the same key", func(list []bridge.Device) bool {
		seen := Find(list, d.Key)
		return seen != nil && seen.Condition == phonebooth.Ready
	})
	if err := access.Probe(t.Context()); !errors.Is(err, bridge.ErrGone) {
		t.Errorf("probing a device that left and came back: %v, want ErrGone", err)
	}
	if err := access.Close(t.Context()); err != nil {
		t.Errorf("closing after the loss: %v", err)
	}
	again, err := b.Open(t.Context(), d.Key, bridge.Lease{})
	if err != nil {
		t.Fatalf("opening a device that came back: %v", err)
	}
	if err := errors.Join(again.Probe(t.Context()), again.Close(t.Context())); err != nil {
		t.Errorf("using a device that came back: %v", err)
	}
}
