package agent

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/runner"
)

// inventory is everything that is true of the devices now, under a new number.
func (p *pool) inventory(incarnation int64, runners *runner.Registry) v1.InventoryRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seq++
	r := v1.InventoryRequest{Incarnation: incarnation, Seq: p.seq, Devices: []v1.Sighting{}}
	for _, key := range slices.Sorted(maps.Keys(p.devices)) {
		d := p.devices[key]
		if !d.present || len(r.Devices) == phonebooth.MaxDevicesPerHost {
			continue
		}
		condition, reason := p.condition(d, d.hands)
		d.told = condition
		s := v1.Sighting{
			Key: key, Name: runner.Clean(d.seen.Name, 255), DriverType: d.seen.DriverType, Tags: d.seen.Tags, Attributes: d.seen.Attributes,
			Runners: runners.Offers(d.seen.DriverType), Condition: runner.Clean(string(condition), 63), Reason: runner.Clean(reason, 1024),
			Confirm: p.confirm[key], Probed: d.probing.passed,
		}
		if r, err := runners.Choose(d.seen.DriverType, ""); err == nil {
			s.Fence = r.Fence
		}
		r.Devices = append(r.Devices, s)
	}
	return r
}

// answered takes what the answer asked to repeat. It reports whether something is asked that was not repeated yet.
func (p *pool) answered(confirm map[string]int64) (again bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, n := range confirm {
		d := p.devices[key]
		again = again || d != nil && d.present && p.confirm[key] != n
	}
	p.confirm = maps.Clone(confirm)
	return again
}

// word is what the report of a lease may say of its device, under a new number: that which is true once it is accepted.
func (p *pool) word(key, lease string) (seq int64, condition phonebooth.Condition, reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seq++
	d, ok := p.devices[key]
	if !ok || !d.present {
		return p.seq, "", ""
	}
	mine := d.holder == lease
	condition, reason = p.condition(d, d.without(mine))
	d.told, d.parting = condition, d.parting || mine && condition == phonebooth.Ready
	return p.seq, condition, reason
}

// tellInventory tells the devices at every heartbeat and at every change.
func (a *Agent) tellInventory(ctx context.Context) {
	failing, draining := false, false
	for ctx.Err() == nil {
		request := a.pool.inventory(a.incarnation, a.runners)
		call, cancel := context.WithTimeout(ctx, a.timing.callTimeout())
		answer, err := a.server.Inventory(call, request)
		cancel()
		if err != nil {
			a.heed(err)
			a.noteFailing(ctx, &failing, "inventory", err)
			sleep(ctx, a.timing.pause())
			continue
		}
		failing = false
		if answer.Draining != draining {
			draining = answer.Draining
			a.log.Info("drain", "draining", draining)
		}
		a.probe(ctx, answer.Probe)
		if a.pool.answered(answer.Confirm) {
			continue
		}
		a.checkRoom()
		select {
		case <-ctx.Done():
		case <-a.pool.changed:
		case <-time.After(a.timing.heartbeat):
		}
	}
}

// noteFailing logs the first failure of a row.
func (a *Agent) noteFailing(ctx context.Context, failing *bool, call string, err error) {
	if !*failing && ctx.Err() == nil {
		a.log.Warn("control plane does not answer", "call", call, "err", err)
	}
	*failing = true
}

// follow keeps the pool informed of what one bridge sees. heard gets a token with the first list.
func (a *Agent) follow(ctx context.Context, name string, heard chan<- struct{}) {
	first := true
	for ctx.Err() == nil {
		err := a.bridges[name].Watch(ctx, func(list []bridge.Device) {
			a.pool.see(name, list)
			if first {
				heard <- struct{}{}
				first = false
			}
		})
		if ctx.Err() != nil {
			return
		}
		// A bridge that ends by itself has lost its devices; it is asked again.
		a.log.Error("bridge ended", "bridge", name, "err", err)
		a.pool.see(name, nil)
		sleep(ctx, a.timing.pause())
	}
}

// cleared is for [pool.handle]: nothing of a lease but its report is left.
func cleared(h *lifecycle.Hands) { h.Process, h.Gate, h.Cleaning = false, false, false }
