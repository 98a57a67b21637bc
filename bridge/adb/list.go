package adb

import (
	"context"
	"io"
	"slices"
	"strings"

	wire "github.com/phonebooth-dev/phonebooth/internal/adb"
	"github.com/phonebooth-dev/phonebooth/internal/fence"
)

// list is the gate's list of devices: one line, or none.
func (g *gate) list(long bool) string {
	seen, _ := g.look()
	if seen == nil {
		return ""
	}
	return seen.Line(long)
}

// track sends the list at first and after each change until the client or the gate ends.
func (g *gate) track(ctx context.Context, client *fence.Line, long bool) {
	gone := g.untilClosed(client)
	last := "never sent"
	for {
		_, changed := g.look()
		if list := g.list(long); list != last {
			if _, err := io.WriteString(client, wire.Block(list)); err != nil {
				return
			}
			last = list
		}
		select {
		case <-changed:
		case <-gone:
			return
		case <-ctx.Done():
			return
		}
	}
}

// untilClosed tells when a client that has nothing more to say is gone.
func (g *gate) untilClosed(client *fence.Line) <-chan struct{} {
	gone := make(chan struct{})
	g.running.Go(func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, client)
	})
	return gone
}

// waitable are the states that a client may wait for: a server's, and those that are none.
var waitable = []string{"any", "disconnect", "device", "recovery", "rescue", "sideload", "bootloader"}

// waitFor answers a client when the device is as it wants it. A device that was lost is waited for in vain: what comes
// back is not the lease's any more.
func (g *gate) waitFor(ctx context.Context, client *fence.Line, r request) {
	_, state, _ := strings.Cut(r.rest, "-") // behind any, usb or local
	if !slices.Contains(waitable, state) {
		g.say(client, wire.FailAnswer("unknown host service"))
		return
	}
	if err := g.means(r.target); err != nil && (state != "disconnect" || g.there()) {
		g.say(client, wire.FailAnswer(err.Error()))
		return
	}
	g.say(client, wire.OkayAnswer)
	gone := g.untilClosed(client)
	for {
		seen, changed := g.look()
		switch {
		case seen == nil && state == "disconnect", seen != nil && (state == "any" || state == string(seen.State)):
			g.say(client, wire.OkayAnswer)
			return
		case seen == nil:
			g.say(client, wire.FailAnswer(g.means(wanted{}).Error()))
			return
		}
		select {
		case <-changed:
		case <-gone:
			return
		case <-ctx.Done():
			return
		}
	}
}
