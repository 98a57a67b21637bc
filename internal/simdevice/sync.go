package simdevice

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxSyncName and maxSyncData bound what one message of a file transfer holds.
const (
	maxSyncName = 1024
	maxSyncData = 64 << 10
)

// serveSync is "sync:": files to and from the phone, and what there is to know of them, in the first version of the
// protocol. Each message is four letters and a number, little end first.
func serveSync(ctx context.Context, s *stream) {
	t := transfer{
		phone: s.transport.phone, in: bufio.NewReaderSize(&incoming{ctx: ctx, s: s}, maxSyncData),
		out: bufio.NewWriterSize(outgoing{ctx, s}, s.chunk),
	}
	for t.next() && t.out.Flush() == nil {
	}
	_ = t.out.Flush() // nobody is left to be told when this does not work
}

type transfer struct {
	phone *Phone
	in    *bufio.Reader
	out   *bufio.Writer
}

// next serves one request and reports whether another may follow.
func (t *transfer) next() bool {
	kind, n, err := t.head()
	if err != nil || kind == "QUIT" || n > maxSyncName {
		return false
	}
	name := make([]byte, n)
	if _, err := io.ReadFull(t.in, name); err != nil {
		return false
	}
	switch kind {
	case "STAT":
		f, _ := t.phone.look(string(name)) // of what is not there all is zero
		t.say("STAT", f.mode, uint32(len(f.content)), f.modified)
	case "LIST":
		for _, e := range t.phone.list(string(name)) {
			t.say("DENT", e.mode, uint32(len(e.content)), e.modified, uint32(len(e.name)))
			_, _ = t.out.WriteString(e.name)
		}
		t.say("DONE", 0, 0, 0, 0)
	case "RECV":
		return t.give(string(name))
	case "SEND":
		return t.take(string(name))
	default:
		t.fail("unknown command %q", kind)
		return false
	}
	return true
}

// give sends a file.
func (t *transfer) give(name string) bool {
	f, err := t.phone.look(name)
	if err != nil || f.mode&modeFile == 0 {
		t.fail("open failed: No such file or directory")
		return true
	}
	for rest := f.content; len(rest) > 0; {
		part := rest[:min(len(rest), maxSyncData)]
		t.say("DATA", uint32(len(part)))
		if _, err := t.out.Write(part); err != nil {
			return false
		}
		rest = rest[len(part):]
	}
	t.say("DONE", 0)
	return true
}

// take stores a file that comes in parts. target is its name, a comma and its mode.
func (t *transfer) take(target string) bool {
	at := strings.LastIndexByte(target, ',')
	mode, err := strconv.ParseUint(target[at+1:], 10, 32)
	if at < 0 || err != nil {
		t.fail("a name and a mode are wanted")
		return false
	}
	f := file{mode: uint32(mode) | modeFile}
	for {
		kind, n, err := t.head()
		switch {
		case err != nil:
			return false
		case kind == "DONE":
			f.modified = n
			t.phone.store(target[:at], f)
			t.say("OKAY", 0)
			return true
		case kind != "DATA" || n > maxSyncData:
			t.fail("%q of %d bytes in a file", kind, n)
			return false
		}
		had := len(f.content)
		f.content = append(f.content, make([]byte, n)...)
		if _, err := io.ReadFull(t.in, f.content[had:]); err != nil {
			return false
		}
	}
}

func (t *transfer) head() (kind string, n uint32, err error) {
	var h [8]byte
	_, err = io.ReadFull(t.in, h[:])
	return string(h[:4]), binary.LittleEndian.Uint32(h[4:]), err
}

// say writes a message. An error stays with the writer until it is flushed.
func (t *transfer) say(kind string, numbers ...uint32) {
	_, _ = t.out.WriteString(kind)
	for _, n := range numbers {
		_, _ = t.out.Write(binary.LittleEndian.AppendUint32(nil, n))
	}
}

func (t *transfer) fail(format string, a ...any) {
	message := fmt.Sprintf(format, a...)
	t.say("FAIL", uint32(len(message)))
	_, _ = t.out.WriteString(message)
}
