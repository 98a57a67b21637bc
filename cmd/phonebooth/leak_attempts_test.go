//go:build linux

package main_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// litter is the runner of the leak check. The goal says what it leaves, how long it goes on in tenths of a second, and how it
// exits.
const litter = `
set -- $PHONEBOOTH_GOAL
case $1 in
plain) echo hello ;;
forks) for i in 1 2 3; do (trap "" INT TERM HUP; sleep 4000) & done ;;
daemon) (setsid sh -c 'trap "" INT TERM HUP; setsid sleep 4000 & sleep 4000' &) ;; # which holds the output
bare) (env -i PATH="$PATH" HOME="$HOME" setsid sleep 4000 &) ;; # which no cookie tells
stubborn) trap "" INT TERM HUP ;;
loud) yes "a line that is written again and again" | head -c 1500000 ;;
places) mkdir -p a/b/c "$PHONEBOOTH_ARTIFACTS/d"; echo x >a/b/c/file; echo y >"$PHONEBOOTH_ARTIFACTS/d/file" ;;
ways)
  if test -n "$ANDROID_SERIAL"; then
    adb forward tcp:0 tcp:7000 && adb reverse tcp:7001 tcp:7002 && adb shell "sleep 4000" &
  fi
  ;;
esac
n=0
while test $n -lt $2; do sleep 0.1; n=$((n + 1)); done
exit $3
`

var litters = []string{"plain", "forks", "daemon", "bare", "stubborn", "loud", "places", "ways"}

// yard is a world in which one agent with two phones and four simulated devices has many attempts.
type yard struct {
	*plane
	host *host
	rack *rack
}

const yardDevices = 6

func newYard(t testing.TB) *yard {
	t.Helper()
	b := newBooth(t)
	b.env = append(b.env, "GOTRACEBACK=all")
	y := &yard{rack: b.rack(t, 2)}
	b.write(t, "litter.sh", litter)
	config := b.write(t, "leak.yaml", "runners: [{name: litter, argv: [sh, "+b.path("litter.sh")+"], stop: {signal: INT, grace: 300ms, term_grace: 300ms}}]")
	y.plane = b.server(t)
	y.host = y.plane.agent(t, "h1", yardDevices-2, "--adb", "auto", "--config", config)
	y.rack.attach(t)
	y.waitDevices(t, yardDevices)
	return y
}

// pieces is how many attempts leave each kind of litter, and how the tasks ended.
type pieces struct {
	mu       sync.Mutex
	kinds    map[string]int
	statuses map[string]int
	slowest  time.Duration // from the end of the program's own time to the end of the attempt
}

// attempts lets n tasks end, a few at a time; the first `cancelled` of every two hundredths are cancelled at a random moment.
func (y *yard) attempts(t *testing.T, n int, cancels bool, dice *rand.Rand) *pieces {
	t.Helper()
	p := &pieces{kinds: map[string]int{}, statuses: map[string]int{}}
	slots := make(chan struct{}, yardDevices+2)
	var all sync.WaitGroup
	for i := range n {
		kind, tenths, code := litters[i%len(litters)], 1+dice.IntN(8), dice.IntN(2)
		cancel, after := cancels && (i/len(litters))%2 == 0, time.Duration(dice.Int64N(int64(900*time.Millisecond)))
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			y.attempt(t, p, fmt.Sprintf("%s %d %d", kind, tenths, code), cancel, after)
			p.mu.Lock()
			defer p.mu.Unlock()
			p.kinds[kind]++
		})
	}
	all.Wait()
	return p
}

// attempt sees one task to its end.
func (y *yard) attempt(t *testing.T, p *pieces, goal string, cancel bool, after time.Duration) {
	task, err := y.client.Submit(t.Context(), v1.TaskRequest{Goal: goal, Constraints: v1.Constraints{Runner: "litter"}})
	if err != nil {
		t.Errorf("submit: %v", err)
		return
	}
	asked := time.Time{}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); task.FinishedAt == nil; <-tick.C {
		if time.Now().After(end) {
			t.Errorf("%q has not ended: %+v", goal, task)
			return
		}
		if cancel && task.AssignedAt != nil && asked.IsZero() && time.Since(*task.AssignedAt) > after {
			asked = time.Now()
			_, _ = y.client.Cancel(t.Context(), task.ID) // refused when it has just ended
		}
		if task, err = y.client.Task(t.Context(), task.ID); err != nil {
			t.Errorf("task: %v", err)
			return
		}
	}
	want := map[bool]string{true: "done", false: "failed"}[goal[len(goal)-1] == '0']
	if task.Attempt != 1 || task.Status != want && (asked.IsZero() || task.Status != "cancelled") {
		t.Errorf("%q is %s %+v in attempt %d, cancelled: %v; want it %s in attempt 1", goal, task.Status, task.Failure, task.Attempt, !asked.IsZero(), want)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.statuses[task.Status]++
	if task.DispatchedAt != nil {
		p.slowest = max(p.slowest, task.FinishedAt.Sub(*task.DispatchedAt))
	}
}

// After many attempts, half of them cancelled, whose runners fork, detach, keep their output open, ignore signals, write much
// and open ways to the phone, everything is as it was after the first few (C39).
func TestLeak_C39_AfterManyAttemptsEverythingIsAsItWas(t *testing.T) {
	t.Parallel()
	long, seed := chaos(t)
	n := 12
	if long {
		n = 200
	}
	dice := rand.New(rand.NewPCG(seed, 200))
	y := newYard(t)
	warmUp := len(litters) + yardDevices
	y.attempts(t, warmUp, false, dice)
	before := y.atRest(t)
	began := time.Now()
	p := y.attempts(t, n, true, dice)
	took := time.Since(began)
	after := y.noMoreThan(t, before)
	defer func() {
		t.Logf("%d attempts in %v, PHONEBOOTH_CHAOS_SEED=%d: ended %v, of kinds %v, the longest took %v\n%s", n, took.Round(time.Second), seed,
			p.statuses, p.kinds, p.slowest.Round(time.Millisecond), compare(before, after))
	}()
	if !long {
		return
	}
	// How many goroutines there are is told by a program that dies of it; what is few is told by another one of these.
	many := y.goroutines(t)
	y.restart(t)
	y.host.restart(t, y.plane)
	y.waitDevices(t, yardDevices)
	y.attempts(t, warmUp, false, dice)
	y.atRest(t)
	few := y.goroutines(t)
	for _, who := range []string{"agent", "server"} {
		before["goroutines of the "+who], after["goroutines of the "+who] = few[who], many[who]
		if many[who] > few[who]+goroutineSlack {
			t.Errorf("the %s has %d goroutines after %d attempts, %d after %d", who, many[who], n, few[who], warmUp)
		}
	}
}

// goroutineSlack is for calls that are just being made.
const goroutineSlack = 8

// goroutines counts the goroutines of the agent and of the server, which die of the question. Those of connections do not
// count: they are as many as there are sockets.
func (y *yard) goroutines(t *testing.T) map[string]int {
	t.Helper()
	count := map[string]int{}
	for who, p := range map[string]*process{"agent": y.host.process, "server": y.plane.process} {
		p.signal(t, syscall.SIGQUIT)
		p.exit(t)
		count[who] = len(goroutine.FindAllString(p.said(), -1)) - len(connection.FindAllString(p.said(), -1))
		if count[who] <= 0 {
			t.Errorf("the %s did not tell its goroutines", who)
		}
	}
	return count
}
