package lifecycle

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/phonebooth-dev/phonebooth"
)

func TestBelieveClaim(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for _, tt := range []struct {
		name                string
		sent, parked, fence time.Duration
		want                time.Duration
	}{
		{"answered at once", 100 * s, 0, 26 * s, 126 * s},
		{"parked: this clock may be slow, so only parked/1.2 is sure", 100 * s, 12 * s, 26 * s, 136 * s},
		{"a repeat with 3 s left", 100 * s, 0, 3 * s, 103 * s},
		{"nothing left", 100 * s, 0, -1 * s, 99 * s},
	} {
		b := BelieveClaim(tt.sent, tt.parked, tt.fence)
		if b.Fence != tt.want {
			t.Errorf("%s: got fence %v, want %v", tt.name, b.Fence, tt.want)
		}
		if !b.MayDrive(tt.want-1) || b.MayDrive(tt.want) {
			t.Errorf("%s: driving must stop exactly at the fence", tt.name)
		}
	}
}

func TestRenewedNeverShortens(t *testing.T) {
	t.Parallel()
	const s = time.Second
	b := Belief{Fence: 126 * s}.Renewed(110*s, 26*s)
	if b.Fence != 136*s {
		t.Errorf("got %v, want 136s", b.Fence)
	}
	if b = b.Renewed(105*s, 26*s); b.Fence != 136*s {
		t.Errorf("an older answer that arrives later: got %v, want 136s", b.Fence)
	}
}

// A clock that leaps, because the machine slept, is past the fence at its first look.
func TestLeapPastTheFence(t *testing.T) {
	t.Parallel()
	b := BelieveClaim(100*time.Second, 0, 26*time.Second)
	if b.MayDrive(160 * time.Second) {
		t.Error("a minute later the lease still counts")
	}
}

// Whatever the rates within the spread, the delays, and the time parked: when the agent is done killing, the sweep has not
// taken the lease.
func TestBeliefEndsBeforeTheSweep(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ms := func(name string, most int) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(t, name)) * time.Millisecond
		}
		rate := rapid.Float64Range(1/RateSpread, RateSpread).Draw(t, "rate") // of the agent's clock against the store's
		there, parked, elapsed := ms("request's way", 60_000), ms("parked", 25_000), ms("since the claim", 30_000)
		agent := func(store time.Duration) time.Duration { return time.Duration(float64(store) * rate) }

		claimedAt := there + parked // by the store, which counts from the request's departure
		a := phonebooth.Attempt{ExpiresAt: epoch.Add(claimedAt + policy.TTL)}
		_, fence := LeaseLeft(a, policy, epoch.Add(claimedAt+elapsed)) // a repeat's answer: elapsed later, parked as long
		b := BelieveClaim(agent(elapsed), parked, fence)               // whose request left elapsed later too
		dead := time.Duration(float64(b.Fence+policy.KillTime) / rate)
		if swept := claimedAt + policy.TTL + policy.Grace; dead > swept {
			t.Errorf("the runner is surely dead at %v, but its lease is swept at %v", dead, swept)
		}
	})
}

func TestHands(t *testing.T) {
	t.Parallel()
	if !(Hands{}).MaySayReady() {
		t.Error("nothing left on the device: it is ready")
	}
	for _, h := range []Hands{{Lease: true}, {Process: true}, {Gate: true}, {Cleaning: true}, {Process: true, Cleaning: true}} {
		if h.MaySayReady() {
			t.Errorf("%+v: it is not ready", h)
		}
	}
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	with := func(change func(*Policy)) Policy {
		p := NewPolicy(DefaultTTL)
		change(&p)
		return p
	}
	for _, tt := range []struct {
		name   string
		policy Policy
		want   string
	}{
		{"production", NewPolicy(DefaultTTL), ""},
		{"tests", NewPolicy(6 * time.Second), ""},
		{"an hour", NewPolicy(time.Hour), ""},
		{"too short", NewPolicy(time.Second - 1), "invalid"},
		{"no grace", with(func(p *Policy) { p.Grace = 0 }), "invalid"},
		{"grace a little too small", with(func(p *Policy) { p.Grace = 4700 * time.Millisecond }), "invalid"},
		{"grace just enough", with(func(p *Policy) { p.Grace = 4800 * time.Millisecond }), ""},
		{"a slow kill", with(func(p *Policy) { p.KillTime = 4 * time.Second }), "invalid"},
		{"a slow kill behind an early fence", with(func(p *Policy) { p.KillTime, p.FenceMargin = 4*time.Second, 5*time.Second }), ""},
		{"a fence before the claim", with(func(p *Policy) { p.FenceMargin = p.TTL }), "invalid"},
		{"no claim window", with(func(p *Policy) { p.ClaimWindow = 0 }), "invalid"},
	} {
		if got := phonebooth.CodeOf(tt.policy.Validate()); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	if p := NewPolicy(6 * time.Second); p.RenewEvery() != 2*time.Second || p.Grace != time.Second || p.HostSilence != 9*time.Second {
		t.Errorf("got %+v, want everything scaled", p)
	}
}
