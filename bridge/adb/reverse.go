package adb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	wire "github.com/phonebooth-dev/phonebooth/internal/adb"
	"github.com/phonebooth-dev/phonebooth/internal/fence"
)

// reverse is a port of the device that leads through the gate to a socket of the host. The device can only be told to
// lead it to a port of the host through the real server: that port is the gate's, and what comes in there is carried on.
type reverse struct {
	device   string // as adb writes it, with the port that the device chose
	host     string
	listener net.Listener
}

// reversing answers what clients ask about reverses. For the service itself there is one OKAY, and one for what was done.
func (g *gate) reversing(ctx context.Context, client *fence.Line, text string) {
	verb, rest, _ := strings.Cut(text, ":")
	var answer string
	var err error
	switch verb {
	case "list-forward":
		g.say(client, wire.OkayAnswer+wire.Block(g.listReverses()))
		return
	case "forward":
		answer, err = g.reverse(ctx, rest)
	case "killforward":
		err = g.killReverse(ctx, rest)
	case "killforward-all":
		for _, r := range g.allReverses() {
			err = errors.Join(err, g.killReverse(ctx, r.device))
		}
	default:
		g.say(client, wire.FailAnswer("unknown request reverse:"+verb))
		return
	}
	if err != nil {
		g.say(client, wire.OkayAnswer+wire.FailAnswer(reason(err)))
		return
	}
	g.say(client, wire.OkayAnswer+wire.OkayAnswer+answer)
}

func (g *gate) allReverses() []*reverse {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.reverses)
}

func (g *gate) listReverses() string {
	var b strings.Builder
	for _, r := range g.allReverses() {
		fmt.Fprintf(&b, "(reverse) %s %s\n", r.device, r.host)
	}
	return b.String()
}

// reverse makes a reverse. The answer is what the device says behind its OKAY: the port that it chose, or nothing.
func (g *gate) reverse(ctx context.Context, text string) (answer string, err error) {
	device, host, keep, err := splitPorts(text)
	if err != nil {
		return "", err
	}
	network, address, err := localSocket(host)
	if err != nil {
		return "", err
	}
	if old := g.findReverse(device); old != nil && keep {
		return "", errRebind
	}
	r := &reverse{device: device, host: host}
	r.listener, err = g.listen("tcp", "127.0.0.1:0", func(conn *fence.Line) { g.carryReverse(ctx, conn, network, address) })
	if err != nil {
		return "", fmt.Errorf("cannot bind listener: %w", err)
	}
	g.mu.Lock()
	g.told = true
	g.mu.Unlock()
	verb := "forward:"
	if keep {
		verb += "norebind:"
	}
	port := strconv.Itoa(r.listener.Addr().(*net.TCPAddr).Port)
	chosen, err := tell(ctx, g.server, g.device, verb+device+";tcp:"+port)
	if err != nil {
		r.listener.Close()
		return "", err
	}
	if chosen != "" {
		r.device, answer = "tcp:"+chosen, wire.Block(chosen)
	}
	g.mu.Lock()
	old := slices.IndexFunc(g.reverses, func(o *reverse) bool { return o.device == r.device })
	var replaced *reverse
	if old >= 0 {
		replaced, g.reverses[old] = g.reverses[old], r
	} else {
		g.reverses = append(g.reverses, r)
	}
	g.mu.Unlock()
	if replaced != nil {
		replaced.listener.Close()
	}
	return answer, nil
}

func (g *gate) findReverse(device string) *reverse {
	for _, r := range g.allReverses() {
		if r.device == device {
			return r
		}
	}
	return nil
}

// killReverse ends a reverse that this gate made. Connections that are open go on, as adb has it.
func (g *gate) killReverse(ctx context.Context, device string) error {
	r := g.findReverse(device)
	if r == nil {
		return fmt.Errorf("listener '%s' not found", device)
	}
	if _, err := tell(ctx, g.server, g.device, "killforward:"+device); err != nil {
		return err
	}
	g.mu.Lock()
	g.reverses = slices.DeleteFunc(g.reverses, func(o *reverse) bool { return o == r })
	g.mu.Unlock()
	r.listener.Close()
	return nil
}

// carryReverse takes a connection that comes from the device on to the host.
func (g *gate) carryReverse(ctx context.Context, conn *fence.Line, network, address string) {
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	host, err := g.fence.Dial(ctx, network, address)
	if err != nil {
		return // as adb does: the connection ends
	}
	defer host.Close()
	g.carry(conn, host.(*fence.Line))
}

// tell asks the device about its ports, and returns the port that it chose, if it did.
func tell(ctx context.Context, server *wire.Client, device wire.Device, request string) (port string, err error) {
	conn, err := server.Open(ctx, device, "reverse:"+request)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := conn.SetReadDeadline(time.Now().Add(openTime)); err != nil {
		return "", err
	}
	if err := wire.ReadStatus(conn, "reverse"); err != nil {
		return "", err
	}
	if port, err = wire.ReadBlock(conn); errors.Is(err, io.EOF) {
		return "", nil // there was none to choose
	}
	return port, err
}

// tidy takes back what a gate that is cut has made on the device. With its transport its ports are gone as well.
func (g *gate) tidy(ctx context.Context, server *wire.Client) error {
	g.mu.Lock()
	told := g.told
	g.mu.Unlock()
	if !told || !g.there() {
		return nil
	}
	listed, err := server.Devices(ctx)
	if errors.Is(err, wire.ErrUnreachable) || err == nil && !isIn(g.device, listed) {
		return nil
	}
	if err == nil {
		_, err = tell(ctx, server, g.device, "killforward-all")
	}
	if err != nil {
		return fmt.Errorf("closing ports on the device: %w", err)
	}
	return nil
}
