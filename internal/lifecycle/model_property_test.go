package lifecycle

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/phonebooth-dev/phonebooth"
)

// op is one step of a script. What n and m mean depends on the step; any number is good for any step.
type op struct {
	do   string
	n, m int
}

// steps are drawn evenly; what must happen often stands often.
var steps = []string{
	"advance", "advance", "advance", "advance", "leap", "leap", "sweep on time",
	"deliver", "deliver newest", "deliver newest", "deliver newest", "deliver all", "duplicate", "lose", "tend",
	"submit", "place", "place", "cancel", "sweep", "sweep", "extend windows", "release", "answer parked", "answer parked",
	"claim", "claim", "renew", "renew", "inventory", "inventory", "runner ends", "clean", "clean", "report", "report",
	"crash", "restart", "start", "start", "take over", "rate",
}

// scripts draws the steps of one world. It begins with an idle pool that has work.
func scripts() *rapid.Generator[[]op] {
	do, n, m := rapid.SampledFrom(steps), rapid.IntRange(0, 999), rapid.IntRange(0, 9)
	one := rapid.Custom(func(t *rapid.T) op { return op{do.Draw(t, "do"), n.Draw(t, "n"), m.Draw(t, "m")} })
	return rapid.SliceOfN(one, 100, 250)
}

// play runs a script on w until it ends or a promise breaks.
func play(w *world, script []op) *world {
	for _, m := range w.machines {
		m.agents[0].inventory()
		m.agents[0].claim()
	}
	w.deliverAll()
	w.submit(3, 0)
	w.submit(2, 0)
	for _, o := range script {
		w.step(o)
		w.check()
		if w.broken != kept {
			break
		}
	}
	return w
}

func (w *world) step(o op) {
	switch o.do {
	case "advance":
		w.advance(time.Duration((1+o.n)*(1+o.m)) * time.Millisecond / 2)
	case "leap":
		w.advance(time.Duration(1+o.n) * 20 * time.Millisecond)
	case "deliver":
		w.deliver(o.n)
	case "deliver newest":
		w.deliver(len(w.net) - 1)
	case "deliver all":
		w.deliverAll()
	case "tend":
		for _, m := range w.machines {
			m.newest().tend()
		}
	case "duplicate":
		if len(w.net) > 0 {
			w.net = append(w.net, w.net[o.n%len(w.net)])
		}
	case "lose":
		w.take(o.n)
	case "submit":
		if len(w.db.taskOrder) < 8 {
			w.submit(1+o.n%3, time.Duration(o.m/5)*time.Minute)
		}
	case "place":
		w.place(o.n)
	case "cancel":
		if o.m < 5 {
			w.cancel(o.n)
		}
	case "sweep":
		w.sweep()
	case "sweep on time":
		w.sweepOnTime()
	case "extend windows":
		w.extendWindows()
	case "release":
		if w.locks {
			w.release(o.n)
		}
	case "answer parked":
		w.answerParked(o.n)
	case "take over":
		if m := w.machines[o.n%len(w.machines)]; !w.locks && o.m < 3 && len(m.agents) < 3 {
			m.newAgent().start(true)
		}
	default:
		w.stepAgent(o)
	}
}

func (w *world) stepAgent(o op) {
	m := w.machines[o.m%len(w.machines)]
	a := m.agents[o.m/len(w.machines)%len(m.agents)]
	switch {
	case o.do == "start":
		a.start(false)
	case o.do == "rate":
		a.rate = []float64{1 / RateSpread, 1 / RateSpread, 1, RateSpread, 1/RateSpread + float64(o.n)/999*(RateSpread-1/RateSpread)}[o.n%5]
	case !a.alive:
	case o.do == "claim":
		a.claim()
	case o.do == "renew":
		a.renew()
	case o.do == "inventory":
		a.inventory()
	case o.do == "runner ends":
		outcomes := []phonebooth.Outcome{phonebooth.OutcomeDone, phonebooth.OutcomeFailed, phonebooth.OutcomeAbandoned}
		a.end(o.n, outcomes[o.n%3])
	case o.do == "clean":
		a.clean(o.n)
	case o.do == "report":
		a.report(o.n)
	case o.do == "crash" && o.n < 300:
		a.crash()
	case o.do == "restart" && o.n < 500:
		a.crash()
		a.start(false)
	}
}

// take takes one message out of the network; nil when there is none.
func (w *world) take(n int) func() {
	if len(w.net) == 0 {
		return nil
	}
	i := n % len(w.net)
	message := w.net[i]
	w.net = append(w.net[:i:i], w.net[i+1:]...)
	return message
}

func (w *world) deliver(n int) {
	if message := w.take(n); message != nil {
		message()
	}
}

// deliverAll delivers what is on its way, and the answers to it.
func (w *world) deliverAll() {
	for range 2 {
		messages := w.net
		w.net = nil
		for _, message := range messages {
			message()
		}
	}
}

// TestModel plays random scripts: verbs from both sides, clocks of different rates, a bad network, crashes and take-overs.
func TestModel(t *testing.T) {
	t.Parallel()
	for name, locks := range map[string]bool{"without locks": false, "with locks and releases": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				if w := play(newWorld(faults{}, locks), scripts().Draw(t, "script")); w.broken != kept {
					t.Fatalf("promise %q is broken %s", w.broken, w.how)
				}
			})
		})
	}
}
