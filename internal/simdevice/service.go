package simdevice

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"strings"
)

// Packets of the second shell protocol: one byte of kind, four of length, little end first.
const (
	packetStdin      = 0
	packetStdout     = 1
	packetStderr     = 2
	packetExit       = 3
	packetCloseStdin = 4
	packetHeader     = 5
)

// service finds the service by its name, nil if the phone has none such.
func (p *Phone) service(name string) func(context.Context, *stream) {
	kind, command, _ := strings.Cut(name, ":")
	options := strings.Split(kind, ",")
	switch {
	case options[0] == "shell":
		for _, o := range options[1:] {
			if o == "v2" {
				return func(ctx context.Context, s *stream) { servePackets(ctx, s, command) }
			}
		}
		return func(ctx context.Context, s *stream) { servePlain(ctx, s, command) }
	case kind == "exec":
		return func(ctx context.Context, s *stream) { servePlain(ctx, s, command) }
	case kind == "sync":
		return serveSync
	case kind == "reverse":
		return serveReverse(command)
	}
	return p.servePort(name)
}

// servePlain is "shell:" and "exec:": one stream for everything, and no exit code.
func servePlain(ctx context.Context, s *stream, command string) {
	ctx, pid, exit := s.transport.phone.fork(ctx, adbdPID, "sh")
	defer exit()
	out := outgoing{ctx, s}
	sh := &shell{
		phone: s.transport.phone, pid: pid, background: s.transport.background, stdin: &incoming{ctx: ctx, s: s}, stdout: out, stderr: out,
	}
	sh.begin(ctx, command)
}

// servePackets is "shell,v2": standard error and the exit code come apart, standard input can end.
func servePackets(ctx context.Context, s *stream, command string) {
	input, feed := io.Pipe()
	fed := make(chan struct{})
	reading, stop := context.WithCancel(ctx)
	go func() {
		defer close(fed)
		defer feed.Close()
		unpackStdin(&incoming{ctx: reading, s: s}, feed)
	}()
	ctx, pid, exit := s.transport.phone.fork(ctx, adbdPID, "sh")
	defer exit()
	out := outgoing{ctx, s}
	sh := &shell{
		phone: s.transport.phone, pid: pid, background: s.transport.background, stdin: input,
		stdout: packets{packetStdout, out, s.chunk}, stderr: packets{packetStderr, out, s.chunk},
	}
	code := sh.begin(ctx, command)
	stop()
	input.Close()
	<-fed
	// If the stream is gone, nobody is left to read the code.
	_, _ = packets{packetExit, out, s.chunk}.Write([]byte{byte(code)})
}

// unpackStdin feeds the standard input out of the peer's packets, as fast as the command reads it, until r ends.
func unpackStdin(r io.Reader, feed *io.PipeWriter) {
	packets := bufio.NewReader(r)
	for {
		var head [packetHeader]byte
		if _, err := io.ReadFull(packets, head[:]); err != nil {
			return
		}
		body := io.LimitReader(packets, int64(binary.LittleEndian.Uint32(head[1:])))
		switch head[0] {
		case packetStdin:
			// A command that does not read has closed its end: the rest is dropped.
			_, _ = io.Copy(feed, body)
		case packetCloseStdin:
			feed.Close()
		}
		if _, err := io.Copy(io.Discard, body); err != nil {
			return
		}
	}
}

// packets wraps what is written into packets of one kind.
type packets struct {
	kind  byte
	out   io.Writer
	chunk int
}

func (w packets) Write(p []byte) (int, error) {
	sent := 0
	for len(p) > 0 {
		n := min(len(p), w.chunk-packetHeader)
		packet := make([]byte, packetHeader, packetHeader+n)
		packet[0] = w.kind
		binary.LittleEndian.PutUint32(packet[1:], uint32(n))
		if _, err := w.out.Write(append(packet, p[:n]...)); err != nil {
			return sent, err
		}
		sent += n
		p = p[n:]
	}
	return sent, nil
}
