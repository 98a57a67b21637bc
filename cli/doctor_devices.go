package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/runner"
)

// deviceSubject begins the subject of each finding about a device.
const deviceSubject = "device "

// listPatience is how long a bridge may take for its list.
const listPatience = 10 * time.Second

// examineBridge looks at what a bridge depends on, and at each of its devices.
func examineBridge(ctx context.Context, r *findings, name string, b bridge.Bridge, runners *runner.Registry, known func(key string) v1.Device) {
	if e, ok := bridge.AsExaminer(b); ok {
		asking, cancel := context.WithTimeout(ctx, listPatience)
		for _, f := range e.Examine(asking) {
			r.add(f)
		}
		cancel()
	}
	devices, ok := listOf(ctx, b)
	if !ok {
		r.ill(name, "the bridge gave no list of devices in time", "see what is said above of what it depends on")
		return
	}
	for _, d := range devices {
		r.add(deviceFinding(d, runners, known(name+":"+d.Key)))
	}
}

// listOf is a bridge's first list.
func listOf(ctx context.Context, b bridge.Bridge) (devices []bridge.Device, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	_ = b.Watch(ctx, func(list []bridge.Device) { // it ends with ctx
		if !ok {
			devices, ok = slices.Clone(list), true
			cancel()
		}
	})
	return devices, ok
}

// deviceFinding is why a device is or is not a candidate: first what its host sees, then what the control plane says.
func deviceFinding(d bridge.Device, runners *runner.Registry, known v1.Device) bridge.Finding {
	f := bridge.Finding{Subject: deviceSubject + d.Name, Verdict: bridge.Ill}
	offers := runners.Offers(d.DriverType)
	switch {
	case d.Condition != phonebooth.Ready:
		f.Message = "no candidate: " + string(d.Condition)
		if d.Reason != "" {
			f.Message += ": " + d.Reason
		}
		f.Advice = conditionAdvice[d.Condition]
	case len(offers) == 0:
		f.Message, f.Advice = "no candidate: this host has no runner for "+d.DriverType+" devices", "name one under runners in the configuration"
	case known.Hold != "" && known.Hold != string(phonebooth.NoHold):
		f.Message, f.Advice = fmt.Sprintf("no candidate: %s: %s", known.Hold, known.HoldReason), "when it is mended: phonebooth device uncordon "+known.ID
	case known.Condition == string(phonebooth.Unhealthy):
		f.Message, f.Advice = "no candidate: unhealthy: "+known.ConditionReason, "the agent tries again by itself; its log tells more"
	default:
		f.Verdict, f.Message = bridge.Well, fmt.Sprintf("candidate: %s; default runner %s", strings.Join(append([]string{d.DriverType}, d.Tags...), " "), offers[0])
	}
	return f
}

// conditionAdvice is what to do about a device that takes no commands.
var conditionAdvice = map[phonebooth.Condition]string{
	"unauthorized":   "unlock the phone and allow USB debugging for this machine",
	"offline":        "unplug it and plug it in again; a network phone: adb connect",
	"no permissions": "give this user the right to the USB device, by a udev rule or the group plugdev",
	"booting":        "wait until it has booted",
	"recovery":       "restart the phone",
	"ambiguous":      "give each phone a serial number of its own, or leave one of them away",
}

// examineRunners looks at each runner: what it lacks, how it is fenced, how far it was tried. It returns those that the host
// would offer, nil when that cannot be told.
func examineRunners(r *findings, s presetSettings, secrets secretSettings, registry registrar) *runner.Registry {
	k, err := s.look(registry)
	if err != nil {
		r.error("runners", err)
		return nil
	}
	_, without := secrets.read()
	for _, l := range k.broken {
		for _, line := range explained(l) {
			if l.File == inConfiguration {
				r.ill("runner "+cmp.Or(l.Runner.Name, "without a name"), "not offered: "+line, "mend it in the configuration")
				continue
			}
			r.ill("preset file", line, "phonebooth preset check "+l.File)
		}
	}
	for _, g := range k.all.All() {
		f := bridge.Finding{Subject: "runner " + g.Name, Verdict: bridge.Well}
		f.Message = fmt.Sprintf("for %s, fence %s, %s", cmp.Or(strings.Join(g.Drivers, " "), "all devices"), g.Fence, triedWith(g))
		if reason := k.reason[g.Name]; reason != "" {
			f.Message, f.Verdict = "not offered: "+reason+"; "+f.Message, bridge.Idle
			if k.source[g.Name] != "" && !slices.Contains(s.Off, g.Name) {
				f.Verdict, f.Advice = bridge.Ill, "install what it needs, or take the runner out of the configuration"
			}
		}
		if lacks := secrets.lacks(g.Secrets, without); f.Verdict == bridge.Well && lacks != "" {
			f.Message, f.Verdict = "every task fails: "+lacks+"; "+f.Message, bridge.Ill
			f.Advice = "mend it under secrets in the configuration"
		}
		r.add(f)
	}
	return k.offered()
}

// triedWith is how far a runner was tried.
func triedWith(g runner.Registration) string {
	switch {
	case g.Verified != "":
		return "verified with " + g.Verified
	case g.Follows != "":
		return "unverified, follows " + g.Follows
	}
	return "this host's own"
}
