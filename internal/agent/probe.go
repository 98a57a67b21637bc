package agent

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/internal/agent/minder"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
)

// probe brings devices back from quarantine: it opens those that the control plane asks for, and puts them in order as after an
// attempt. One that has passed says so in the next inventory. life ends with the agent.
func (a *Agent) probe(life context.Context, asked map[string]int64) {
	for key, number := range asked {
		d, ok := a.pool.takeForProbe(key, number, a.now(), a.timing.of30(probePause))
		if ok {
			a.loops.Go(func() { a.probeOne(life, d, number) })
		}
	}
}

// probePause is the pause after a probe that failed, with a lease of 30 s; it doubles each time.
const probePause = 5 * time.Minute

func (a *Agent) probeOne(life context.Context, d device, number int64) {
	l := &lease{cookie: a.cookiePrefix() + rand.Text(), stop: func(error) {}, touched: true}
	l.DeviceKey = d.key
	err := a.examineDevice(life, l, d)
	a.log.Info("device in quarantine was probed", "device", d.key, "err", err)
	a.clean(life, l)
	if err == nil && l.isClean() {
		a.pool.passed(d.key, number)
	}
}

// examineDevice opens a device and asks whether it is there.
func (a *Agent) examineDevice(life context.Context, l *lease, d device) error {
	if _, err := a.lockAgain(l, d); err != nil {
		dir, name := a.lockOf(d)
		l.barred = func() error { return tryLock(dir, name) }
		return err
	}
	ctx, cancel := context.WithTimeout(life, openLimit)
	defer cancel()
	access, err := a.bridges[d.bridge].Open(ctx, d.seen.Key, bridge.Lease{Log: io.Discard, Env: []string{minder.CookieVar + "=" + l.cookie}})
	if err != nil {
		return fmt.Errorf("open the device: %w", err)
	}
	l.reopened(access)
	return access.Probe(ctx)
}

// isClean reports whether nothing of the lease is left on its device.
func (l *lease) isClean() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.clean
}

// probing is what is known of the probes of a device in quarantine.
type probing struct {
	passed int64         // the number of the last one that it has passed
	next   time.Duration // steady time before which none is made
	pause  time.Duration
	number int64 // of the last one that was made
}

// takeForProbe lays hands on a device that is ready, and on which there are none, to probe it.
func (p *pool) takeForProbe(key string, number int64, now, pause time.Duration) (device, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d, ok := p.devices[key]
	if !ok || d.seen.Condition != phonebooth.Ready || !d.present || !d.hands.MaySayReady() || d.trouble != "" || d.probing.passed == number {
		return device{}, false
	}
	if d.probing.number != number {
		d.probing = probing{number: number, pause: pause}
	} else if now < d.probing.next {
		return device{}, false
	}
	d.probing.next, d.probing.pause = now+d.probing.pause, 2*d.probing.pause
	d.hands = lifecycle.Hands{Cleaning: true}
	p.tell(false)
	return *d, true
}

// passed notes that a device has passed a probe.
func (p *pool) passed(key string, number int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d, ok := p.devices[key]; ok {
		d.probing.passed = number
		p.tell(true)
	}
}
