package adb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	wire "github.com/phonebooth-dev/phonebooth/internal/adb"
	"github.com/phonebooth-dev/phonebooth/internal/fence"
)

// forward is a port of the host that leads through the gate to a service of the device. Its listener is the gate's, so the
// real server knows nothing of it.
type forward struct {
	local    string // as adb writes it, with the port that was bound
	remote   string // changes when it is bound again; guarded by the gate
	listener net.Listener
}

// forwarding answers what clients ask about forwards.
func (g *gate) forwarding(ctx context.Context, client *fence.Line, r request) {
	switch r.verb {
	case "list-forward":
		g.say(client, wire.OkayAnswer+wire.Block(g.listForwards()))
		return
	case "killforward-all":
		g.mu.Lock()
		all := g.forwards
		g.forwards = nil
		g.mu.Unlock()
		for _, f := range all {
			f.listener.Close()
		}
	case "killforward":
		if !g.killForward(r.rest) {
			g.say(client, wire.FailAnswer("listener '"+r.rest+"' not found"))
			return
		}
	case "forward":
		if err := g.means(r.target); err != nil {
			g.say(client, wire.FailAnswer(err.Error()))
			return
		}
		port, err := g.forward(ctx, r.rest)
		if err != nil {
			g.say(client, wire.FailAnswer(err.Error()))
			return
		}
		if port != "" {
			g.say(client, wire.OkayAnswer+wire.OkayAnswer+wire.Block(port))
			return
		}
	}
	g.say(client, wire.OkayAnswer+wire.OkayAnswer) // it was understood, and it is done
}

func (g *gate) listForwards() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var b strings.Builder
	for _, f := range g.forwards {
		fmt.Fprintf(&b, "%s %s %s\n", g.device.Serial, f.local, f.remote)
	}
	return b.String()
}

// killForward reports whether there was a forward of that name. Connections that are open go on, as adb has it.
func (g *gate) killForward(local string) bool {
	g.mu.Lock()
	at := slices.IndexFunc(g.forwards, func(f *forward) bool { return f.local == local })
	if at < 0 {
		g.mu.Unlock()
		return false
	}
	f := g.forwards[at]
	g.forwards = slices.Delete(g.forwards, at, at+1)
	g.mu.Unlock()
	f.listener.Close()
	return true
}

// splitPorts reads [norebind:]FROM;TO.
func splitPorts(text string) (from, to string, keep bool, err error) {
	rest, keep := strings.CutPrefix(text, "norebind:")
	from, to, _ = strings.Cut(rest, ";")
	if from == "" || to == "" || strings.HasPrefix(to, "*") || strings.Contains(to, ";") {
		return "", "", false, fmt.Errorf("bad forward: %s", text)
	}
	return from, to, keep, nil
}

var errRebind = errors.New("cannot rebind existing socket")

// forward makes a forward, and returns the port when the gate chose it.
func (g *gate) forward(ctx context.Context, text string) (port string, err error) {
	local, remote, keep, err := splitPorts(text)
	if err != nil {
		return "", err
	}
	network, address, err := localSocket(local)
	if err != nil {
		return "", err
	}
	g.mu.Lock()
	for _, f := range g.forwards {
		if f.local == local {
			defer g.mu.Unlock()
			if keep {
				return "", errRebind
			}
			f.remote = remote
			return "", nil
		}
	}
	g.mu.Unlock()
	f := &forward{local: local, remote: remote}
	f.listener, err = g.listen(network, address, func(conn *fence.Line) { g.carryForward(ctx, conn, f) })
	if err != nil {
		return "", fmt.Errorf("cannot bind listener: %w", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if local == "tcp:0" {
		port = strconv.Itoa(f.listener.Addr().(*net.TCPAddr).Port)
		f.local = "tcp:" + port
	}
	g.forwards = append(g.forwards, f)
	return port, nil
}

func (g *gate) carryForward(ctx context.Context, conn *fence.Line, f *forward) {
	g.mu.Lock()
	remote := f.remote
	g.mu.Unlock()
	device, err := g.reach(ctx, remote)
	if err != nil {
		return // as adb does: the connection ends
	}
	defer device.Close()
	g.carry(conn, device)
}

// localSocket is where on this host a socket of adb's is, as package net takes it.
func localSocket(spec string) (network, address string, err error) {
	kind, rest, _ := strings.Cut(spec, ":")
	switch {
	case kind == "tcp":
		if port, err := strconv.ParseUint(rest, 10, 16); err == nil {
			return "tcp", net.JoinHostPort("127.0.0.1", strconv.FormatUint(port, 10)), nil
		}
	case kind == "localfilesystem" && rest != "":
		return "unix", rest, nil
	case kind == "localabstract" && rest != "":
		return "unix", "@" + rest, nil
	}
	return "", "", fmt.Errorf("cannot use socket '%s': want tcp:PORT, localabstract:NAME or localfilesystem:PATH", spec)
}
