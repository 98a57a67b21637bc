package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/client"
)

func event(pos int) string {
	return fmt.Sprintf("id: %d\nevent: task.done\ndata: {\"pos\":%d,\"kind\":\"task.done\"}\n\n", pos, pos)
}

// streams answers with an event stream that then ends, or, with silent, says nothing more until it is cut.
func streams(text string, silent bool) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		reader, writer := io.Pipe()
		go func() {
			_, _ = io.WriteString(writer, text)
			if silent {
				<-r.Context().Done()
			}
			writer.CloseWithError(io.ErrUnexpectedEOF)
		}()
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: reader}, nil
	}
}

func TestFollowGoesOnWhereTheStreamBroke(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []func(*http.Request) (*http.Response, error){
			streams(": following\nid: 7\n\n"+event(8)+event(9)+"id: 10\nevent: task.done\ndata: {\"po", false),
			breaks,
			streams(event(10)+": heartbeat\nid: 20\n\n", true), // and then silence: the connection is dead
			streams(event(21), true),
		}}
		c := newClient(t, s, client.Options{})
		began := time.Now()
		var got []int64
		for e, err := range c.Follow(t.Context(), client.EventQuery{After: client.OnlyNew, Kinds: []string{"task.done"}}) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, e.Pos); len(got) == 4 {
				break
			}
		}
		if fmt.Sprint(got) != "[8 9 10 21]" {
			t.Errorf("got %v", got)
		}
		var resumed []string
		for _, r := range s.asked {
			resumed = append(resumed, r.Header.Get("Last-Event-ID")+"/"+r.URL.Query().Get("after"))
			if r.Header.Get("Accept") != "text/event-stream" || r.URL.Query().Get("kind") != "task.done" {
				t.Errorf("asked %v", r)
			}
		}
		if fmt.Sprint(resumed) != "[/-1 9/9 9/9 20/20]" {
			t.Errorf("resumed from %v", resumed)
		}
		if took := time.Since(began); took < 45*time.Second || took > 50*time.Second {
			t.Errorf("a dead connection was noticed after %v", took)
		}
	})
}

func TestFollowEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for code, answer := range map[string]func(*http.Request) (*http.Response, error){
			"unauthenticated": refuses(401, "unauthenticated"), client.Unreachable: breaks,
		} {
			s := &script{answers: []func(*http.Request) (*http.Response, error){answer}}
			var got []error
			for _, err := range newClient(t, s, client.Options{}).Follow(t.Context(), client.EventQuery{}) {
				got = append(got, err)
			}
			if len(got) != 1 || phonebooth.CodeOf(got[0]) != code {
				t.Errorf("got %v, want %s once", got, code)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s := &script{answers: []func(*http.Request) (*http.Response, error){streams(event(1), true), streams("", true)}}
		for _, err := range newClient(t, s, client.Options{}).Follow(ctx, client.EventQuery{}) {
			if err != nil {
				t.Errorf("got %v", err)
			}
		}
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Errorf("ended by itself: %v", ctx.Err())
		}
	})
}

func TestFollowTellsWhatWasPrunedAndGoesOnAfterBeingDropped(t *testing.T) {
	t.Parallel()
	const pruned = "id: 5\nevent: pruned\ndata: {\"code\":\"position_pruned\",\"message\":\"gone\",\"oldest\":6}\n\n"
	const dropped = "id: 6\nevent: dropped\ndata: {\"code\":\"slow_reader\",\"message\":\"slow\"}\n\n"
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []func(*http.Request) (*http.Response, error){
			streams(pruned+event(6)+dropped, false), streams(event(7), true),
		}}
		var oldest, got []int64
		q := client.EventQuery{After: 2, Labels: []string{"a=b", "c"}, Kinds: []string{"task.*", "host.silent"}, Pruned: func(n int64) { oldest = append(oldest, n) }}
		for e, err := range newClient(t, s, client.Options{}).Follow(t.Context(), q) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, e.Pos); len(got) == 2 {
				break
			}
		}
		if fmt.Sprint(got, oldest) != "[6 7] [6]" {
			t.Errorf("got %v, told of %v", got, oldest)
		}
		if asked := s.asked[0].URL.Query(); fmt.Sprint(asked["label"], asked["kind"]) != "[a=b c] [task.*,host.silent]" {
			t.Errorf("asked %v", asked)
		}
		if id := s.asked[1].Header.Get("Last-Event-ID"); id != "6" {
			t.Errorf("went on behind %s", id)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []func(*http.Request) (*http.Response, error){streams(pruned+event(6), true)}}
		var got []error
		for _, err := range newClient(t, s, client.Options{}).Follow(t.Context(), client.EventQuery{After: 2}) {
			got = append(got, err)
		}
		if len(got) != 1 || phonebooth.CodeOf(got[0]) != "position_pruned" {
			t.Errorf("nobody would be told: got %v, want the error position_pruned", got)
		}
	})
}
