package client_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

// broken answers each call with the next of some streams; behind the last one there is no server. It keeps what it was asked.
type broken struct {
	answers []string
	asked   []string
}

func (s *broken) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked = append(s.asked, r.URL.RawQuery+" "+r.Header.Get("Last-Event-Id"))
	if len(s.answers) == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	answer := s.answers[0]
	s.answers = s.answers[1:]
	w := httptest.NewRecorder()
	_, _ = io.WriteString(w, answer)
	return w.Result(), nil
}

func (s *broken) client(t *testing.T, patience time.Duration) *client.Client {
	t.Helper()
	c, err := client.New("http://x", "", client.Options{Transport: s, Patience: patience})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func message(id, kind, data string) string {
	return fmt.Sprintf("id: %s\nevent: %s\ndata: %s\n\n", id, kind, data)
}

func TestAFollowedLogIsTakenUpWhereItBroke(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &broken{answers: []string{
			": heartbeat\n\n" + message("1:0", "attempt", `{"attempt":1,"offset":0}`) + message("1:3", "log", `{"attempt":1,"offset":0,"data":"YWJj"}`) +
				"id: 1:6\nevent: log\ndata: {\"attempt\":1,", // it broke within a message
			"",
			message("1:3", "attempt", `{"attempt":1,"offset":3}`) + message("1:6", "log", `{"attempt":1,"offset":3,"data":"ZGVm"}`) +
				"event: dropped\ndata: {\"code\":\"slow_reader\"}\n\n",
			message("1:6", "attempt", `{"attempt":1,"offset":6}`) + message("2:0", "closed", `{"attempt":1,"offset":6,"complete":true}`),
			message("2:0", "attempt", `{"attempt":2,"offset":0}`) + message("2:9", "gap", `{"attempt":2,"offset":0,"bytes":9}`) +
				message("3:0", "closed", `{"attempt":2,"offset":9,"reason":"gone"}`) + message("3:0", "end", `{"status":"done"}`),
		}}
		var got []string
		for e, err := range s.client(t, time.Minute).FollowLog(t.Context(), "task_1", client.LogQuery{All: true, Name: v1.LogDevice}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s %d %d %s", e.Kind, e.Attempt, e.Offset, e.Data)+e.Reason+e.Status))
			if e.Bytes != 0 || e.Complete {
				got = append(got, fmt.Sprint(e.Bytes, " ", e.Complete))
			}
		}
		want := []string{
			"attempt 1 0", "log 1 0 abc", "log 1 3 def", "closed 1 6", "0 true", "attempt 2 0", "gap 2 0", "9 false", "closed 2 9 gone", "end 0 0 done",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		const query = "follow=true&name=device "
		if want := []string{query + "1:0", query + "1:3", query + "1:3", query + "1:6", query + "2:0"}; !slices.Equal(s.asked, want) {
			t.Errorf("asked %q, want %q", s.asked, want)
		}
	})
}

func TestFollowingALogEndsWithItsContextAndWithTheClientsPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &broken{answers: []string{message("1:0", "attempt", `{"attempt":1,"offset":0}`)}}
		began := time.Now()
		var last error
		for _, err := range s.client(t, 20*time.Second).FollowLog(t.Context(), "task_1", client.LogQuery{}) {
			last = err
		}
		if took := time.Since(began); phonebooth.CodeOf(last) != client.Unreachable || took < 10*time.Second || took > 30*time.Second {
			t.Errorf("after %v: %v, want that the server is not reachable", took, last)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for e, err := range (&broken{}).client(t, time.Hour).FollowLog(ctx, "task_1", client.LogQuery{}) {
			t.Errorf("got %v, %v", e, err)
		}
		s = &broken{answers: []string{message("1:0", "log", "{")}}
		for _, err := range s.client(t, time.Hour).FollowLog(t.Context(), "task_1", client.LogQuery{}) {
			if phonebooth.CodeOf(err) != client.Unreadable {
				t.Errorf("what is no message: %v", err)
			}
		}
	})
}
