package simdevice

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A phone has ports of its own, named as adb names them: "tcp:8080", "localabstract:name". Behind one is either a program
// of the phone, see Listen, or a way out to the machine of an adb server, which that server asked for ("reverse").

// wayOut leads from a port of the phone through a transport to a service of the server's machine.
type wayOut struct {
	transport *transport
	service   string
}

// Listen puts a program behind a port of the phone, which `adb forward` reaches: serve is called for each connection, which
// ends when it returns.
func (p *Phone) Listen(port string, serve func(io.ReadWriter)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ports[port] = serve
}

// Dial connects, as a program of the phone would, to a port of it that leads out. The caller closes what it gets.
func (p *Phone) Dial(ctx context.Context, port string) (io.ReadWriteCloser, error) {
	p.mu.Lock()
	way := p.ways[port]
	p.mu.Unlock()
	if way.transport == nil {
		return nil, fmt.Errorf("dialing %s of a simulated phone: connection refused", port)
	}
	return way.transport.dial(ctx, way.service)
}

// Ways lists the ports that lead out to a server's machine, sorted.
func (p *Phone) Ways() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ports []string
	for port := range p.ways {
		ports = append(ports, port)
	}
	slices.Sort(ports)
	return ports
}

// servePort is "tcp:" and "local...:": one connection to a program of the phone, nil if nothing is behind the port.
func (p *Phone) servePort(port string) func(context.Context, *stream) {
	p.mu.Lock()
	serve := p.ports[port]
	p.mu.Unlock()
	if serve == nil {
		return nil
	}
	return func(ctx context.Context, s *stream) { serve(conversation{ctx, s, &incoming{ctx: ctx, s: s}}) }
}

// conversation is a stream to be read and written.
type conversation struct {
	ctx context.Context
	s   *stream
	in  *incoming
}

func (c conversation) Read(p []byte) (int, error)  { return c.in.Read(p) }
func (c conversation) Write(p []byte) (int, error) { return outgoing{c.ctx, c.s}.Write(p) }

// Close ends a stream that the phone opened.
func (c conversation) Close() error { c.s.end(); return nil }

// serveReverse is "reverse:": a server makes, lists and ends the ports of the phone that lead to its machine.
func serveReverse(request string) func(context.Context, *stream) {
	return func(ctx context.Context, s *stream) {
		answer := s.transport.reverse(request)
		// A server that has gone needs no answer.
		_, _ = io.WriteString(outgoing{ctx, s}, answer)
	}
}

// reverse does what a server asks and answers in the words of the protocol.
func (t *transport) reverse(request string) string {
	t.phone.mu.Lock()
	defer t.phone.mu.Unlock()
	verb, rest, _ := strings.Cut(request, ":")
	switch verb {
	case "list-forward":
		var list string
		for port, way := range t.phone.ways {
			if way.transport == t {
				list += "(reverse) " + port + " " + way.service + "\n"
			}
		}
		return fmt.Sprintf("%04x%s", len(list), list)
	case "killforward-all":
		t.closeWays()
		return "OKAY"
	case "killforward":
		if t.phone.ways[rest].transport != t {
			return refusal("listener '" + rest + "' not found")
		}
		delete(t.phone.ways, rest)
		return "OKAY"
	case "forward":
		rest, keep := strings.CutPrefix(rest, "norebind:")
		port, service, ok := strings.Cut(rest, ";")
		if !ok || port == "" || service == "" {
			return refusal("bad forward: " + request)
		}
		return t.openWay(port, service, keep)
	}
	return refusal("unknown request " + request)
}

// openWay makes a way out. A port 0 becomes a free one, which the answer tells. The phone is locked.
func (t *transport) openWay(port, service string, keep bool) string {
	answer := "OKAY"
	if port == "tcp:0" {
		for n := 41000; ; n++ {
			digits := fmt.Sprint(n)
			if port = "tcp:" + digits; t.phone.ways[port].transport == nil {
				answer += fmt.Sprintf("%04x%s", len(digits), digits)
				break
			}
		}
	}
	if keep && t.phone.ways[port].transport != nil {
		return refusal("cannot rebind existing socket")
	}
	t.phone.ways[port] = wayOut{t, service}
	return answer
}

// closeWays ends the ways out through t. The phone is locked.
func (t *transport) closeWays() {
	for port, way := range t.phone.ways {
		if way.transport == t {
			delete(t.phone.ways, port)
		}
	}
}

func refusal(message string) string { return fmt.Sprintf("FAIL%04x%s", len(message), message) }
