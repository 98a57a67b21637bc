package cli

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

// logs is a server that keeps the head of each attempt's log, and its newest bytes.
type logs struct {
	mu   sync.Mutex
	text map[int]string // what a runner wrote
	lost map[int]int    // where the kept tail begins, when bytes behind the head were left out
}

func (l *logs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	attempt, _ := strconv.Atoi(r.FormValue("attempt"))
	offset, _ := strconv.Atoi(r.FormValue("offset"))
	text := l.text[attempt]
	offset = min(offset, len(text))
	if tail := l.lost[attempt]; offset < tail {
		head := max(offset, headBytes)
		_, _ = fmt.Fprintf(w, "%s\n[phonebooth: %d bytes left out]\n%s", text[offset:max(offset, min(headBytes, len(text)))], tail-head, text[tail:])
		return
	}
	_, _ = fmt.Fprint(w, text[offset:])
}

func (l *logs) write(attempt int, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text[attempt] += text
}

func follow(t *testing.T, l *logs) (*tail, *bytes.Buffer) {
	t.Helper()
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, "", client.Options{Patience: -1})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	return &tail{client: c, task: "task_1", out: &out}, &out
}

func verb(t *testing.T) *cobra.Command {
	t.Helper()
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	cmd.SetErr(&bytes.Buffer{})
	return cmd
}

func TestALogIsFollowedThroughItsAttempts(t *testing.T) {
	t.Parallel()
	l := &logs{text: map[int]string{}}
	f, out := follow(t, l)
	cmd := verb(t)
	f.seen(cmd, v1.Task{Status: "queued"})
	l.write(1, "one\n")
	f.seen(cmd, v1.Task{Attempt: 1, MaxAttempts: 3})
	f.seen(cmd, v1.Task{Attempt: 1, MaxAttempts: 3})
	l.write(1, "one more\n")
	l.write(2, "two\n")
	l.write(3, "three\n")
	f.seen(cmd, v1.Task{Attempt: 3, MaxAttempts: 3})
	l.write(3, "behind the report\n")
	if err := f.finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "one\none more\ntwo\nthree\nbehind the report\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestC37_FollowingALongLogRepeatsNothing(t *testing.T) {
	t.Parallel()
	head := strings.Repeat("h", headBytes)
	gap := strings.Repeat("g", 3<<20)
	l := &logs{text: map[int]string{1: head + gap + "tail"}, lost: map[int]int{1: len(head) + len(gap)}}
	marker := fmt.Sprintf("\n[phonebooth: %d bytes left out]\n", len(gap))

	whole, out := follow(t, l)
	whole.attempt = 1
	behind, late := follow(t, l)
	behind.attempt, behind.offset = 1, headBytes+1<<20
	for range 3 {
		for _, f := range []*tail{whole, behind} {
			if err := f.copy(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		l.write(1, ", more")
	}
	if got, want := out.String(), head+marker+"tail, more, more"; got != want {
		t.Errorf("from the beginning: %d bytes that end with %q, want %d", len(got), got[max(0, len(got)-100):], len(want))
	}
	want := fmt.Sprintf("\n[phonebooth: %d bytes left out]\ntail, more, more", len(gap)-1<<20)
	if got := late.String(); got != want {
		t.Errorf("from among the bytes that were left out: %.200q, want %q", got, want)
	}
}

func TestWhatOnlyLooksLikeAMarkerIsText(t *testing.T) {
	t.Parallel()
	const text = "\n[phonebooth: 500 bytes left out]\nx"
	f, out := follow(t, &logs{text: map[int]string{1: text}})
	f.attempt = 1
	for range 2 {
		if err := f.copy(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if out.String() != text || f.offset != int64(len(text)) {
		t.Errorf("got %q up to %d, want the text up to %d", out.String(), f.offset, len(text))
	}
}
