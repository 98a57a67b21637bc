package adb

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	wire "github.com/phonebooth-dev/phonebooth/internal/adb"
	"github.com/phonebooth-dev/phonebooth/internal/fence"
)

// serve answers one client of the gate.
func (g *gate) serve(ctx context.Context, client *fence.Line) {
	chosen := false // a transport was
	for {
		text, err := wire.ReadBlock(client)
		if err != nil {
			return
		}
		switch r := parse(text, g.names()); {
		case r.verb == "service" && !chosen:
			g.say(client, wire.FailAnswer("device offline (no transport)"))
			return
		case r.verb == "service":
			g.service(ctx, client, r.rest)
			return
		case r.verb != "transport" && r.verb != "tport":
			g.host(ctx, client, r)
			return
		default:
			if chosen = g.choose(client, r); !chosen {
				return
			}
		}
	}
}

// say writes an answer. A client that is gone has no use for it, and the next read tells.
func (g *gate) say(client io.Writer, answer string) { _, _ = io.WriteString(client, answer) }

// names are what clients may call the device, the longest first.
func (g *gate) names() []string {
	d := g.device
	names := []string{d.Serial}
	for _, name := range []struct{ prefix, value string }{
		{"", d.USBPath}, {"product:", d.Product}, {"model:", d.Model}, {"device:", d.Name},
	} {
		if name.value != "" {
			names = append(names, name.prefix+name.value)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	return names
}

// means is nil when a client that asks for t gets the device, and otherwise says why not.
func (g *gate) means(t wanted) error {
	switch {
	case t.id != 0 && t.id != g.device.TransportID:
		return fmt.Errorf("no device with transport id '%d'", t.id)
	case t.serial != "" && !slices.Contains(g.names(), t.serial):
		return fmt.Errorf("device '%s' not found", t.serial)
	case !g.there():
		return fmt.Errorf("device '%s' not found: it has left the adb server, and the lease has lost it", g.device.Serial)
	}
	return nil
}

// choose answers a client that wants to talk to a device.
func (g *gate) choose(client *fence.Line, r request) bool {
	if err := g.means(r.target); err != nil {
		g.say(client, wire.FailAnswer(err.Error()))
		return false
	}
	answer := wire.OkayAnswer
	if r.verb == "tport" {
		answer += string(binary.LittleEndian.AppendUint64(nil, g.device.TransportID))
	}
	g.say(client, answer)
	return true
}

// refused are the requests that would change the real server, with what people call them.
var refused = map[string]string{
	"kill": "kill-server", "connect": "connect", "disconnect": "disconnect", "pair": "pair", "reconnect": "reconnect",
	"reconnect-offline": "reconnect offline", "attach": "attach", "detach": "detach", "emulator": "emulator",
}

// refuse is the answer to what would change the host for everybody.
func refuse(what string) string {
	return wire.FailAnswer(what + " does nothing here: this adb server is the gate of one lease to one device")
}

// host answers what is asked of the server itself.
func (g *gate) host(ctx context.Context, client *fence.Line, r request) {
	switch r.verb {
	case "version":
		if g.program != 0 { // a client of another version than its server kills it, or tries to
			g.say(client, wire.OkayAnswer+wire.Block(fmt.Sprintf("%04x", g.program)))
			return
		}
		g.relay(ctx, client, "host:version")
	case "host-features":
		g.relay(ctx, client, "host:"+r.verb)
	case "features", "get-state", "get-serialno", "get-devpath":
		if err := g.means(r.target); err != nil {
			g.say(client, wire.FailAnswer(err.Error()))
			return
		}
		g.relay(ctx, client, fmt.Sprintf("host-transport-id:%d:%s", g.device.TransportID, r.verb))
	case "devices", "devices-l":
		g.say(client, wire.OkayAnswer+wire.Block(g.list(r.verb == "devices-l")))
	case "track-devices", "track-devices-l":
		g.say(client, wire.OkayAnswer)
		g.track(ctx, client, r.verb == "track-devices-l")
	case "wait-for":
		g.waitFor(ctx, client, r)
	case "forward", "killforward", "killforward-all", "list-forward":
		g.forwarding(ctx, client, r)
	default:
		if name, ok := refused[r.verb]; ok {
			g.say(client, refuse("adb "+name))
			return
		}
		g.say(client, wire.FailAnswer("unknown host service"))
	}
}

// relay asks the real server and hands on what it says.
func (g *gate) relay(ctx context.Context, client *fence.Line, query string) {
	answer, err := g.server.Query(ctx, query)
	if err != nil {
		g.say(client, wire.FailAnswer(reason(err)))
		return
	}
	g.say(client, wire.OkayAnswer+wire.Block(answer))
}

// reason is what the real server said, or what kept it from saying anything.
func reason(err error) string {
	if refusal, ok := errors.AsType[*wire.Refusal](err); ok {
		return refusal.Message
	}
	return err.Error()
}

// closedServices are services of a device that would open ways to it beside the gate, or that act on the server.
var closedServices = []string{"tcpip:", "usb:", "reconnect"}

// service opens a service of the device and carries it to its end.
func (g *gate) service(ctx context.Context, client *fence.Line, name string) {
	if request, ok := strings.CutPrefix(name, "reverse:"); ok {
		g.reversing(ctx, client, request)
		return
	}
	for _, closed := range closedServices {
		if strings.HasPrefix(name, closed) {
			g.say(client, refuse("adb "+strings.TrimSuffix(closed, ":")))
			return
		}
	}
	device, err := g.reach(ctx, name)
	if err != nil {
		g.say(client, wire.FailAnswer(reason(err)))
		return
	}
	defer device.Close()
	g.note(name)
	g.say(client, wire.OkayAnswer)
	g.carry(client, device)
}

// reach opens a service of the device.
func (g *gate) reach(ctx context.Context, service string) (*fence.Line, error) {
	if !g.there() {
		return nil, fmt.Errorf("device '%s' not found", g.device.Serial)
	}
	conn, err := g.server.Open(ctx, g.device, service)
	if err != nil {
		return nil, err
	}
	return conn.(*fence.Line), nil
}

// note writes a command that was passed to the lease's log, on one line.
func (g *gate) note(service string) {
	kind, command, _ := strings.Cut(service, ":")
	kind, _, _ = strings.Cut(kind, ",")
	if started := instrumentedBy(command); started != nil {
		g.mu.Lock()
		g.started = append(g.started, started...)
		g.mu.Unlock()
	}
	if g.lease.Log == nil || !slices.Contains([]string{"shell", "exec", "abb", "abb_exec"}, kind) {
		return
	}
	command = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(command, "\uFFFD"))
	_, _ = fmt.Fprintln(g.lease.Log, strings.TrimSpace(kind+" "+command)) // who gave the log sees to its errors
}
