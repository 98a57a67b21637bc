//go:build linux

package main_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
	"github.com/phonebooth-dev/phonebooth/internal/store/postgrestest"
)

// chaos tells whether the long version of a test is wanted, and the seed of this run's dice.
func chaos(t testing.TB) (long bool, seed uint64) {
	t.Helper()
	seed = uint64(time.Now().UnixNano())
	if given := os.Getenv("PHONEBOOTH_CHAOS_SEED"); given != "" {
		var err error
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatalf("PHONEBOOTH_CHAOS_SEED: %v", err)
		}
	}
	t.Logf("PHONEBOOTH_CHAOS_SEED=%d", seed)
	return os.Getenv("PHONEBOOTH_CHAOS") == "1", seed
}

// round is one kill: of whom, when, and with which dice.
type round struct {
	number        int
	victim, phase string
	away          time.Duration // how long what must be started again by hand is away
	dice          *rand.Rand
}

// rounds plans n of them: every victim in every phase, in a random order, before one comes again.
func rounds(n int, seed uint64) (plan []round) {
	dice := rand.New(rand.NewPCG(seed, 0))
	for len(plan) < n {
		var every []round
		for _, v := range victims {
			for _, p := range phases {
				every = append(every, round{victim: v, phase: p})
			}
		}
		dice.Shuffle(len(every), func(i, j int) { every[i], every[j] = every[j], every[i] })
		plan = append(plan, every...)
	}
	plan = plan[:n]
	for i := range plan {
		k := &plan[i]
		k.number, k.dice = i+1, rand.New(rand.NewPCG(seed, uint64(i+1)))
		k.away = time.Duration(k.dice.Int64N(int64(600 * time.Millisecond)))
		if k.dice.IntN(8) == 0 && n > len(victims)*len(phases) {
			k.away = chaosLease * 3 / 2 // longer than any lease lasts
		}
	}
	return plan
}

// Whatever is killed, whenever: every task ends, every device comes back, no result is lost, nothing lives on, and no two
// attempts ever drive one device at once. The worlds work at the same time, each on its share of the rounds; every second one
// has PostgreSQL.
func TestChaos_WhateverIsKilledEveryTaskEndsAndNothingIsLeft(t *testing.T) {
	t.Parallel()
	long, seed := chaos(t)
	n, worlds := 6, 3
	if long {
		n, worlds = 100, 4
	}
	plan, sum := rounds(n, seed), &tally{cells: map[string]*cell{}}
	t.Run("worlds", func(t *testing.T) {
		for w := range worlds {
			t.Run(strconv.Itoa(w), func(t *testing.T) {
				t.Parallel()
				var flags []string
				if w%2 == 1 {
					flags = []string{"--database", postgrestest.DSN(t)}
				}
				r := newRuin(t, flags...)
				for i := w; i < n; i += worlds {
					r.play(t, plan[i], sum)
				}
			})
		}
	})
	t.Logf("%d kill rounds, PHONEBOOTH_CHAOS_SEED=%d\n%s", n, seed, sum)
	if sum.rounds() != n {
		t.Errorf("%d rounds came to their end, want %d", sum.rounds(), n)
	}
}

// play plays one round: two tasks run on two devices, a target comes to the third one and another task waits; when the target
// has come to the round's phase the victim is killed, and then everything has to come to rest.
func (r *ruin) play(t *testing.T, k round, sum *tally) {
	t.Helper()
	failed := t.Failed()
	defer func() {
		if t.Failed() && !failed {
			t.Logf("round %d: %s killed while %s", k.number, k.victim, k.phase)
		}
	}()
	stop := make(chan struct{})
	var keeping sync.WaitGroup
	keeping.Go(func() { r.keepExits(stop) })
	defer keeping.Wait()
	defer close(stop)

	devices := r.devices(t)
	k.dice.Shuffle(len(devices), func(i, j int) { devices[i], devices[j] = devices[j], devices[i] })
	tasks := []string{
		r.submit(t, work(strconv.Itoa(3+k.dice.IntN(5)), devices[0].ID)),
		r.submit(t, work(strconv.Itoa(8+k.dice.IntN(8)), devices[1].ID)),
	}
	eventually(t, "two runners", func() bool { return r.did(tasks[0], "start") && r.did(tasks[1], "start") })
	target := r.submit(t, work(strconv.Itoa(2+k.dice.IntN(6)), ""))
	met := r.await(t, k, target)
	struck := time.Now()
	hit := r.strike(t, k, target)
	tasks = append(tasks, target, r.submit(t, work("1", "")))
	healed := r.rest(t, tasks)
	took := time.Since(struck)
	r.check(t, k, target, tasks)
	r.forget(t)
	sum.add(k, met, hit, healed, took, r.ended(t, tasks))
	if took > longRecovery {
		t.Logf("round %d took %v: %s killed while %s, away for %v", k.number, took.Round(time.Millisecond), k.victim, k.phase, k.away)
		r.tell(t, tasks)
	}
}

// longRecovery is what is told of in detail.
const longRecovery = 5 * chaosLease

// tell tells what happened to tasks.
func (r *ruin) tell(t testing.TB, tasks []string) {
	t.Helper()
	for _, id := range tasks {
		for _, e := range r.events(t, client.EventQuery{TaskID: id}) {
			t.Logf("%s %s %s attempt %d on %s: %s", e.At.Format("05.000"), id, e.Kind, e.Attempt, e.DeviceID, encode(t, e.Detail))
		}
	}
}

// await waits until the target has come to the phase, and reports whether it was in it at the last look.
func (r *ruin) await(t testing.TB, k round, target string) bool {
	t.Helper()
	asked := false
	at := slices.Index(phases, k.phase)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-tick.C {
		now := r.now(t, target)
		if k.phase == stopping && now == running && !asked {
			if _, err := r.client.Cancel(t.Context(), target); err != nil {
				t.Fatalf("cancel %s: %v", target, err)
			}
			asked = true
		}
		if slices.Index(phases, now) >= at {
			if k.phase == running || k.phase == stopping || k.phase == reporting {
				until(time.Now().Add(time.Duration(k.dice.Int64N(int64(100 * time.Millisecond)))))
				now = r.now(t, target)
			}
			return now == k.phase
		}
		if now == "" && (r.did(target, "start") || r.task(t, target).Attempt > 1) {
			return false // it has gone by
		}
	}
	t.Fatalf("%s never came to be %s", target, k.phase)
	return false
}

// rest waits until all tasks have ended and all devices are ready, and reports how many devices had to be let back in by hand:
// one whose attempts fail again and again is taken out, which a round that kills is a reason for.
func (r *ruin) rest(t testing.TB, tasks []string) (uncordoned int) {
	t.Helper()
	for _, id := range tasks {
		eventually(t, id+" to end", func() bool { return r.task(t, id).FinishedAt != nil })
	}
	eventually(t, "all devices to be ready", func() bool {
		ready := 0
		for _, d := range r.devices(t) {
			if d.Hold == "quarantined" {
				uncordoned++
				if _, err := r.client.Uncordon(t.Context(), d.ID); err != nil {
					t.Fatalf("uncordon: %v", err)
				}
			}
			if d.Unavailable == "" {
				ready++
			}
		}
		return ready == 3
	})
	return uncordoned
}

// ended reads how the tasks ended.
func (r *ruin) ended(t testing.TB, tasks []string) (all []v1.Task) {
	t.Helper()
	for _, id := range tasks {
		all = append(all, r.task(t, id))
	}
	return all
}

// tally is what came of the rounds, by victim and phase.
type tally struct {
	mu    sync.Mutex
	cells map[string]*cell
}

type cell struct {
	rounds, met, hit, tasks, attempts, done, failed, cancelled, healed int
	slowest                                                            time.Duration
}

func (s *tally) add(k round, met, hit bool, healed int, took time.Duration, tasks []v1.Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := k.victim + "/" + k.phase
	if s.cells[name] == nil {
		s.cells[name] = &cell{}
	}
	one := cell{rounds: 1, healed: healed, slowest: took, tasks: len(tasks)}
	if met {
		one.met = 1
	}
	if hit {
		one.hit = 1
	}
	for _, task := range tasks {
		one.attempts += task.Attempt
		switch task.Status {
		case "done":
			one.done++
		case "failed":
			one.failed++
		case "cancelled":
			one.cancelled++
		}
	}
	s.cells[name].sum(one)
}

func (c *cell) sum(o cell) {
	c.rounds, c.met, c.hit, c.tasks, c.attempts = c.rounds+o.rounds, c.met+o.met, c.hit+o.hit, c.tasks+o.tasks, c.attempts+o.attempts
	c.done, c.failed, c.cancelled, c.healed = c.done+o.done, c.failed+o.failed, c.cancelled+o.cancelled, c.healed+o.healed
	c.slowest = max(c.slowest, o.slowest)
}

func (s *tally) rounds() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, c := range s.cells {
		n += c.rounds
	}
	return n
}

// String is the table. "in phase" are the rounds in which the target was seen in the phase at the last look before the kill,
// "hit" those in which there was somebody to kill.
func (s *tally) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	line := func(victim, phase string, c cell) {
		fmt.Fprintf(&b, "%-13s %-10s %6d %8d %4d %6d %8d %5d %6d %9d %10d %8.1fs\n", victim, phase, c.rounds, c.met, c.hit, c.tasks, c.attempts,
			c.done, c.failed, c.cancelled, c.healed, c.slowest.Seconds())
	}
	fmt.Fprintf(&b, "%-13s %-10s %6s %8s %4s %6s %8s %5s %6s %9s %10s %9s\n", "victim", "phase", "rounds", "in phase", "hit", "tasks", "attempts",
		"done", "failed", "cancelled", "uncordoned", "slowest")
	var all cell
	for _, v := range victims {
		for _, p := range phases {
			if c := s.cells[v+"/"+p]; c != nil {
				line(v, p, *c)
				all.sum(*c)
			}
		}
	}
	line("all", "", all)
	return b.String()
}
