package adb

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// farm is a scripted server in a bubble: what it lists, whether it is up, whether it announces.
type farm struct {
	mu       sync.Mutex
	list     string
	down     bool
	dials    int
	announce chan struct{} // closed and replaced at each announcement
	kill     chan struct{} // closed when the server dies
}

func newFarm(list string) *farm {
	return &farm{list: list, announce: make(chan struct{}), kill: make(chan struct{})}
}

func (f *farm) set(list string, announced bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = list
	if announced {
		close(f.announce)
		f.announce = make(chan struct{})
	}
}

func (f *farm) die() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = true
	close(f.kill)
}

func (f *farm) live() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down, f.kill = false, make(chan struct{})
}

func (f *farm) tries() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dials
}

func (f *farm) client(o Options) *Client {
	c := scripted(o, func(conn net.Conn, request string) bool {
		f.mu.Lock()
		list, announce, kill := f.list, f.announce, f.kill
		f.mu.Unlock()
		if request == "host:devices-l" {
			_, _ = io.WriteString(conn, "OKAY"+block(list))
			return false
		}
		_, _ = io.WriteString(conn, "OKAY"+block(""))
		for {
			select {
			case <-announce:
				if _, err := io.WriteString(conn, block("")); err != nil {
					return false
				}
				f.mu.Lock()
				announce = f.announce
				f.mu.Unlock()
			case <-kill:
				return false
			}
		}
	})
	dial := c.dial
	c.dial = func(ctx context.Context) (net.Conn, error) {
		f.mu.Lock()
		f.dials++
		down := f.down
		f.mu.Unlock()
		if down {
			return nil, errors.New("connection refused")
		}
		return dial(ctx)
	}
	return c
}

// follow runs Track in the background and returns what it reported so far.
func follow(t *testing.T, c *Client) (seen func() [][]string, stop func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var lists [][]string
	ended := make(chan error, 1)
	go func() {
		ended <- c.Track(ctx, func(devices []Device) {
			serials := []string{}
			for _, d := range devices {
				serials = append(serials, d.Serial+" "+string(d.State))
			}
			mu.Lock()
			lists = append(lists, serials)
			mu.Unlock()
		})
	}()
	return func() [][]string {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return lists
		}, func() error {
			cancel()
			return <-ended
		}
}

func TestTrackReportsChangesAndOnlyChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFarm("")
		seen, stop := follow(t, f.client(Options{}))
		want := [][]string{{}}
		check := func(what string) {
			t.Helper()
			if diff := cmp.Diff(want, seen()); diff != "" {
				t.Errorf("%s: want (-) got (+):\n%s", what, diff)
			}
		}
		check("at first, an empty list")
		f.set(listed("A", "device", "", 1), true)
		want = append(want, []string{"A device"})
		check("an announcement, at once")
		f.set(listed("A", "device", "", 1), true)
		check("an announcement of nothing new")
		f.set(listed("A", "offline", "", 1), false)
		time.Sleep(4 * time.Second)
		check("no announcement, before the poll")
		time.Sleep(time.Second)
		want = append(want, []string{"A offline"})
		check("no announcement, after the poll")
		close(f.kill)
		if err := stop(); !errors.Is(err, context.Canceled) {
			t.Errorf("Track = %v, want its context's end", err)
		}
	})
}

func TestTrackBacksOffAndComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFarm(listed("A", "device", "", 1))
		seen, stop := follow(t, f.client(Options{}))
		seen()
		f.die()
		time.Sleep(time.Second)
		if diff := cmp.Diff([][]string{{"A device"}, {}}, seen()); diff != "" {
			t.Errorf("a second after the server died, want (-) got (+):\n%s", diff)
		}
		before := f.tries()
		time.Sleep(10 * time.Minute)
		if tries := f.tries() - before; tries < 60 || tries > 600 {
			t.Errorf("%d tries in ten minutes, want one in about every five seconds", tries)
		}
		f.live()
		time.Sleep(lastBackoff + time.Second)
		if diff := cmp.Diff([][]string{{"A device"}, {}, {"A device"}}, seen()); diff != "" {
			t.Errorf("after the server came back, want (-) got (+):\n%s", diff)
		}
		f.die()
		if err := stop(); !errors.Is(err, context.Canceled) {
			t.Errorf("Track = %v, want its context's end", err)
		}
	})
}

func TestTrackSurvivesAServerThatRestartsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFarm(listed("A", "device", "", 1))
		seen, stop := follow(t, f.client(Options{}))
		seen()
		f.die()
		f.live()
		time.Sleep(time.Second)
		if diff := cmp.Diff([][]string{{"A device"}}, seen()); diff != "" {
			t.Errorf("want no empty list between, want (-) got (+):\n%s", diff)
		}
		f.die()
		_ = stop()
	})
}
