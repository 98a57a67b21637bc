package cli

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// awaiting is a verb that waits at a server, and what it says.
func awaiting(t *testing.T, handler http.HandlerFunc) (*program, *cobra.Command, *bytes.Buffer) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	var said bytes.Buffer
	cmd := verb(t)
	cmd.SetOut(io.Discard)
	cmd.SetErr(&said)
	return &program{access: access{server: server.URL, token: "pb_admin_test"}}, cmd, &said
}

func TestATaskWhoseLogIsGoneEndsAsItDid(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]int{"done": 0, "failed": exitFailed, "cancelled": exitCancelled} {
		p, cmd, said := awaiting(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/log") {
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusGone)
				_, _ = io.WriteString(w, `{"status":410,"code":"log_expired","title":"Gone","detail":"the task's logs were removed"}`)
				return
			}
			_, _ = io.WriteString(w, `{"id":"task_1","status":"`+status+`","attempt":1,"max_attempts":3}`)
		})
		out := formatTable
		err := p.await(cmd, &submission{out: &out, follow: true, progress: progressNone}, v1.Task{ID: "task_1"})
		if got := exitCode(err); got != want || !strings.Contains(said.String(), "the task's logs were removed") {
			t.Errorf("%s: exit %d, %v, said %q; want exit %d", status, got, err, said, want)
		}
	}
}

// TestASignalIsActedOnAlthoughTheServerIsSlow has a server that does not say why the task waits.
func TestASignalIsActedOnAlthoughTheServerIsSlow(t *testing.T) {
	t.Parallel()
	stuck, asked, cancelled := make(chan struct{}), make(chan struct{}, 1), make(chan struct{})
	p, cmd, _ := awaiting(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/explain"):
			select {
			case asked <- struct{}{}:
			default:
			}
			<-stuck
		case r.Method == http.MethodPost:
			close(cancelled)
			<-stuck
		default:
			_, _ = io.WriteString(w, `{"id":"task_1","status":"queued","max_attempts":3}`)
		}
	})
	t.Cleanup(func() { close(stuck) }) // before the server closes
	c, err := p.connect(cmd, longPatience)
	if err != nil {
		t.Fatal(err)
	}
	held, release := p.interruptions(cmd, true)
	defer release()
	w := &waiting{cmd: cmd, client: c, id: "task_1", progress: newProgress(cmd, progressPlain), interruption: held, cancelled: make(chan error, 1)}
	ended := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		_, err := w.run(ctx)
		ended <- err
	}()
	<-asked
	if !p.signals.taken(syscall.SIGTERM) {
		t.Error("the signal is not taken")
	}
	select {
	case <-cancelled:
	case <-time.After(10 * time.Second):
		t.Error("a build is killed 10 s after its signal: the task was not cancelled by then")
	}
	stop()
	<-ended
}
