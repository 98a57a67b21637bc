package simdevice

import (
	"encoding/binary"
	"strings"
	"testing"
)

func syncMessage(kind string, n int, body string) string {
	return kind + string(binary.LittleEndian.AppendUint32(nil, uint32(n))) + body
}

func TestWhatIsNoFileTransferIsRefused(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct{ send, want string }{
		"an unknown command":   {syncMessage("NONE", 1, "x"), "FAIL"},
		"a name without end":   {syncMessage("STAT", 1<<30, "x"), ""},
		"no mode":              {syncMessage("SEND", 2, "/x"), "FAIL"},
		"a part without end":   {syncMessage("SEND", 6, "/x,644") + syncMessage("DATA", 1<<30, ""), "FAIL"},
		"a file that is none":  {syncMessage("RECV", 7, "/sdcard"), "FAIL"},
		"an end in the middle": {syncMessage("SEND", 6, "/x,644") + syncMessage("QUIT", 0, ""), "FAIL"},
	} {
		phone := New(Options{})
		pe := attached(t, phone)
		pe.send(msgOpen, 1, 0, "sync:\x00")
		id := pe.expect(msgReady, 1).arg0
		pe.send(msgWrite, 1, id, c.send)
		got := ""
		for {
			m := pe.read()
			if m.kind == msgClose {
				break
			}
			if m.kind == msgWrite {
				got += string(m.data)
				pe.send(msgReady, 1, id, "")
				if what == "a file that is none" { // after which another request may come
					pe.send(msgClose, 1, id, "")
					break
				}
			}
		}
		if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: answered %q, want %q", what, got, c.want)
		}
		if _, ok := phone.File("/x"); ok {
			t.Errorf("%s: a file was stored", what)
		}
	}
}

func TestAPortOfThePhoneBelongsToTheServerThatAskedForIt(t *testing.T) {
	t.Parallel()
	phone := New(Options{})
	ask := func(pe *peer, request string) string {
		t.Helper()
		pe.send(msgOpen, 1, 0, "reverse:"+request+"\x00")
		pe.expect(msgReady, 1)
		answer := pe.expect(msgWrite, 1)
		pe.send(msgReady, 1, answer.arg0, "")
		pe.expect(msgClose, 1)
		return string(answer.data)
	}
	one := attached(t, phone)
	for request, want := range map[string]string{"forward:tcp:1;tcp:2": "OKAY", "nonsense": "FAIL", "forward:tcp:1": "FAIL"} {
		if got := ask(one, request); !strings.HasPrefix(got, want) {
			t.Errorf("%s is answered %q, want %q", request, got, want)
		}
	}
	two := attached(t, phone)
	if got := ask(two, "killforward:tcp:1"); !strings.HasPrefix(got, "FAIL") {
		t.Errorf("another server's port was closed: %q", got)
	}
	if got := ask(two, "list-forward"); got != "0000" {
		t.Errorf("another server's port is listed: %q", got)
	}
	if got := ask(one, "list-forward"); !strings.HasSuffix(got, "(reverse) tcp:1 tcp:2\n") {
		t.Errorf("the port is not listed: %q", got)
	}
	refused := make(chan error, 1)
	go func() {
		_, err := phone.Dial(t.Context(), "tcp:1")
		refused <- err
	}()
	m := one.read()
	if m.kind != msgOpen || string(m.data) != "tcp:2\x00" {
		t.Fatalf("the server was sent %x %q, want that tcp:2 is opened", m.kind, m.data)
	}
	one.send(msgClose, 0, m.arg0, "")
	if err := <-refused; err == nil {
		t.Error("a connection that the server refused was made")
	}
}
