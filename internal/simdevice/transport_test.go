package simdevice

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// peer is the adb server's end of a transport, one message at a time.
type peer struct {
	t    *testing.T
	conn net.Conn
}

// attached serves p until the test ends and returns a peer that has been greeted.
func attached(t *testing.T, p *Phone) *peer {
	t.Helper()
	pe := connect(t, p)
	pe.send(msgConnect, 0x01000001, 1<<20, "host::features=shell_v2")
	if m := pe.read(); m.kind != msgConnect || !strings.HasPrefix(string(m.data), "device::") {
		t.Fatalf("greeted with %x %q, want CNXN device::", m.kind, m.data)
	}
	return pe
}

func connect(t *testing.T, p *Phone) *peer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- p.Serve(ctx, l) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve = %v, want nil after its context ended", err)
		}
		conn.Close()
	})
	return &peer{t, conn}
}

func (p *peer) send(kind, arg0, arg1 uint32, data string) {
	p.t.Helper()
	if _, err := p.conn.Write(message{kind, arg0, arg1, []byte(data)}.encode()); err != nil {
		p.t.Fatalf("writing to the phone: %v", err)
	}
}

func (p *peer) read() message {
	p.t.Helper()
	m, err := readMessage(p.conn)
	if err != nil {
		p.t.Fatalf("reading from the phone: %v", err)
	}
	return m
}

// expect reads one message of kind for our stream id.
func (p *peer) expect(kind, id uint32) message {
	p.t.Helper()
	m := p.read()
	if m.kind != kind || m.arg1 != id {
		p.t.Fatalf("got message %x for stream %d with %.80q, want %x for %d", m.kind, m.arg1, m.data, kind, id)
	}
	return m
}

// gone reports whether the phone ended the connection.
func (p *peer) gone() bool {
	_, err := p.conn.Read(make([]byte, 1))
	return err == io.EOF || err != nil && !isTimeout(err)
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error)
	return ok && e.Timeout()
}

func stdinPacket(kind byte, body string) string {
	h := binary.LittleEndian.AppendUint32([]byte{kind}, uint32(len(body)))
	return string(h) + body
}

func TestOnePayloadIsUnderWayUntilItIsAcknowledged(t *testing.T) {
	t.Parallel()
	pe := attached(t, New(Options{}))
	pe.send(msgOpen, 5, 0, "exec:settings put system x "+strings.Repeat("x", 100_000)+"; settings get system x; echo end\x00")
	ready := pe.expect(msgReady, 5)
	pe.expect(msgWrite, 5)
	// Without an OKAY nothing more may come on this stream: the next answer is another stream's.
	pe.send(msgOpen, 6, 0, "exec:true\x00")
	pe.expect(msgReady, 6)
	pe.expect(msgClose, 6)
	pe.send(msgReady, 5, ready.arg0, "")
	if m := pe.expect(msgWrite, 5); string(m.data) != "end\n" {
		t.Errorf("second payload is %.20q, want the next command's output", m.data)
	}
	pe.send(msgReady, 5, ready.arg0, "")
	pe.expect(msgClose, 5)
}

func TestPayloadsKeepToThePeersLimit(t *testing.T) {
	t.Parallel()
	pe := connect(t, New(Options{}))
	pe.send(msgConnect, protocolVersion, 4096, "host::")
	pe.read()
	pe.send(msgOpen, 1, 0, "shell,v2,raw:echo "+strings.Repeat("x", 10_000)+"\x00")
	ready := pe.expect(msgReady, 1)
	var got []byte
	for {
		m := pe.read()
		if m.kind == msgClose {
			break
		}
		if len(m.data) > 4096 {
			t.Errorf("a payload of %d bytes, want 4096 at most", len(m.data))
		}
		got = append(got, m.data...)
		pe.send(msgReady, 1, ready.arg0, "")
	}
	if n := bytes.Count(got, []byte("x")); n != 10_000 {
		t.Errorf("%d characters arrived, want 10000", n)
	}
}

func TestStandardInputIsAcknowledgedWhenItIsRead(t *testing.T) {
	t.Parallel()
	pe := attached(t, New(Options{}))
	pe.send(msgOpen, 1, 0, "shell,v2,raw:cat\x00")
	id := pe.expect(msgReady, 1).arg0
	whole := stdinPacket(packetStdin, "hello")
	pe.send(msgWrite, 1, id, whole[:3]) // a packet may be cut anywhere
	pe.expect(msgReady, 1)
	pe.send(msgWrite, 1, id, whole[3:])
	kinds := []uint32{pe.read().kind, pe.read().kind}
	slices.Sort(kinds)
	if want := []uint32{msgWrite, msgReady}; !slices.Equal(kinds, slices.Sorted(slices.Values(want))) {
		t.Errorf("got messages %x, want the OKAY and the text", kinds)
	}
	pe.send(msgReady, 1, id, "")
	pe.send(msgWrite, 1, id, stdinPacket(packetCloseStdin, ""))
	var exit []byte
	for m := pe.read(); m.kind != msgClose; m = pe.read() {
		if m.kind == msgWrite {
			exit = m.data
			pe.send(msgReady, 1, id, "")
		}
	}
	if want := stdinPacket(packetExit, "\x00"); string(exit) != want {
		t.Errorf("last packet is %q, want %q", exit, want)
	}
}

func TestClosingAStreamStopsItsCommands(t *testing.T) {
	t.Parallel()
	for _, service := range []string{"shell,v2,raw:", "shell:", "exec:"} {
		phone := New(Options{})
		pe := attached(t, phone)
		pe.send(msgOpen, 1, 0, service+"echo begun; sleep 3600; input tap 1 1\x00")
		id := pe.expect(msgReady, 1).arg0
		pe.expect(msgWrite, 1)
		pe.send(msgReady, 1, id, "")
		pe.send(msgClose, 1, id, "")
		// Its goroutine is waited for at the end of the test; a second stream shows that the transport lives.
		pe.send(msgOpen, 2, 0, "exec:true\x00")
		pe.expect(msgReady, 2)
		pe.expect(msgClose, 2)
		for _, c := range phone.Commands() {
			if strings.HasPrefix(c.Line, "input") {
				t.Errorf("%s ran %q after its stream was closed", service, c.Line)
			}
		}
	}
}

func TestWhatIsNotOfTheProtocolEndsTheTransport(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]func(*peer){
		"another protocol": func(p *peer) { _, _ = io.WriteString(p.conn, "GET / HTTP/1.1\r\nHost: phone.example\r\n\r\n") },
		"a huge payload": func(p *peer) {
			b := message{kind: msgOpen}.encode()
			binary.LittleEndian.PutUint32(b[12:], 1<<31)
			_, _ = p.conn.Write(b)
		},
		"an unknown message": func(p *peer) { p.send(0x12345678, 0, 0, "") },
		"payloads without waiting": func(p *peer) {
			p.send(msgOpen, 1, 0, "exec:sleep 3600\x00")
			id := p.expect(msgReady, 1).arg0
			p.send(msgWrite, 1, id, "a")
			p.send(msgWrite, 1, id, "b")
		},
	} {
		pe := attached(t, New(Options{}))
		send(pe)
		if !pe.gone() {
			t.Errorf("%s: the transport goes on, want it ended", name)
		}
	}
}

func TestUnknownServicesAndStreamsAreClosed(t *testing.T) {
	t.Parallel()
	pe := attached(t, New(Options{}))
	pe.send(msgOpen, 7, 0, "framebuffer:\x00")
	pe.expect(msgClose, 7)
	pe.send(msgWrite, 8, 99, "to nobody")
	pe.expect(msgClose, 8)
	pe.send(msgReady, 8, 99, "")
	pe.send(msgClose, 8, 99, "")
	pe.send(msgOpen, 9, 0, "exec:true\x00")
	pe.expect(msgReady, 9)
	pe.expect(msgClose, 9)
}

func TestFaultsOnTheWire(t *testing.T) {
	t.Parallel()
	phone := New(Options{})
	pe := attached(t, phone)
	phone.Hang()
	pe.send(msgOpen, 1, 0, "shell:true\x00")
	pe.expect(msgReady, 1)
	phone.Drop()
	if !pe.gone() {
		t.Error("the transport goes on after Drop")
	}
	phone.Unauthorized()
	pe = connect(t, phone)
	pe.send(msgConnect, protocolVersion, 4096, "host::")
	for range 3 { // the token comes again after every signature and after the key
		if m := pe.read(); m.kind != msgAuth || m.arg0 != authToken || len(m.data) != tokenSize {
			t.Errorf("an unauthorized phone sends %x %d with %d bytes, want AUTH with a token", m.kind, m.arg0, len(m.data))
		}
		pe.send(msgAuth, 2, 0, "signature")
	}
	pe.read()
	pe.send(msgOpen, 1, 0, "shell:true\x00")
	pe.expect(msgClose, 1)
	phone.Recover()
	if !pe.gone() {
		t.Error("the unauthorized transport goes on after Recover")
	}
	phone.Offline()
	pe = connect(t, phone)
	pe.send(msgConnect, protocolVersion, 4096, "host::")
	pe.send(msgOpen, 1, 0, "shell:true\x00")
	pe.expect(msgClose, 1) // and no CNXN before it
	if got := phone.Commands(); len(got) > 1 {
		t.Errorf("%+v ran, want the hanging one at most", got)
	}
}

func TestServeEndsWithItsListener(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := New(Options{}).Serve(t.Context(), l); err == nil {
		t.Error("Serve on a closed listener = nil, want an error")
	}
}

func TestTheSteadyClockMovesForward(t *testing.T) {
	t.Parallel()
	a := steadyNow()
	if b := steadyNow(); a <= 0 || b < a {
		t.Errorf("the clock went from %v to %v", a, b)
	}
}
