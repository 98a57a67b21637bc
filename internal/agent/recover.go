package agent

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/agent/journal"
	"github.com/phonebooth-dev/phonebooth/internal/agent/minder"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/runner"
)

// recover ends what a former life left: it kills, and writes reports. Nothing of it needs the control plane. It returns a
// parcel for every report that is to be sent, and the leases of which nothing is left but what is to be sent. When ctx ends the agent is
// stopping; what is begun is done all the same.
func (a *Agent) recover(ctx, life context.Context) (parcels []*parcel, logs []*lease) {
	if len(a.journal.Quarantined()) > 0 {
		a.killAll(ctx)
	}
	for _, bad := range a.spool.Quarantined() {
		a.log.Error("a report in the spool could not be read", "reason", bad.Reason)
	}
	left := a.killLeftovers(life)
	dirs := a.lonePlaces(left)
	sent := map[string]bool{}
	for _, pending := range a.spool.Pending() {
		p := &parcel{kept: true}
		if err := json.Unmarshal(pending.Body, &p.request); err != nil {
			a.log.Error("a report in the spool cannot be read", "err", err)
			continue
		}
		p.lease = leftoverOf(left, pending.LeaseID)
		if dir, ok := dirs[pending.LeaseID]; ok {
			p.lease.dir = dir
			delete(dirs, pending.LeaseID)
		}
		sent[pending.LeaseID] = true
		parcels = append(parcels, p)
	}
	for _, l := range left {
		if !sent[l.LeaseID] {
			p := &parcel{lease: l.lease, request: a.requestOf(l.LeaseID, a.outcomeOf(life, l))}
			a.keep(p)
			parcels = append(parcels, p)
		} else {
			l.settled(a, func() { l.spooled = true })
		}
	}
	for _, p := range parcels {
		a.leases.add(p.lease) // renewed until its report is answered
	}
	for id, dir := range dirs {
		l := strange(v1.HeldLease{LeaseID: id})
		l.dir = dir
		logs = append(logs, l)
	}
	return parcels, logs
}

// killAll ends everything that this host's agents ever started, because it is not known any more on which device that is.
// No device is told of before it is dead.
func (a *Agent) killAll(ctx context.Context) {
	a.log.Error("a journal entry could not be read; everything that this host's agents ever started is killed")
	for {
		_, err := minder.SweepPrefix(ctx, a.cookiePrefix())
		if err == nil {
			return
		}
		a.log.Error("processes of a lost attempt are left", "err", err)
		if !sleep(ctx, a.timing.pause()) {
			return
		}
	}
}

// leftover is a lease of a former life.
type leftover struct {
	*lease
	phase string
}

// killers is how many leftovers are killed at a time: each reads the whole process table again and again.
const killers = 8

// killLeftovers ends the processes of every attempt in the journal.
func (a *Agent) killLeftovers(ctx context.Context) []*leftover {
	entries := a.journal.Entries()
	left := make([]*leftover, len(entries))
	slots := make(chan struct{}, killers)
	var all sync.WaitGroup
	for i, e := range entries {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			left[i] = a.killLeftover(ctx, e)
		})
	}
	all.Wait()
	return left
}

func (a *Agent) killLeftover(ctx context.Context, e journal.Entry) *leftover {
	l := &leftover{phase: e.Phase, lease: &lease{
		cookie: e.Cookie, dir: e.WorkDir, stop: func(error) {}, hands: true, touched: true, ran: true, journaled: true,
	}}
	if err := json.Unmarshal(e.Assignment, &l.Assignment); err != nil {
		a.log.Error("a journal entry has no assignment", "err", err)
	}
	l.LeaseID = e.LeaseID
	killed, err := minder.KillLeftovers(ctx, minder.Record{PID: e.MinderPID, Start: e.MinderStart, BootID: e.BootID, Cookie: e.Cookie})
	a.log.Info("attempt of a former life", append(l.task(), "phase", e.Phase, "killed", killed, "err", err)...)
	l.strays = straysIn(l.dir)
	l.clean = err == nil && len(a.options.Cleanup) == 0 && !slices.ContainsFunc(l.strays, minder.Record.Alive)
	return l
}

// straysIn lists what the minders of an attempt could not kill.
func straysIn(dir string) []minder.Record {
	var strays []minder.Record
	for _, step := range stepsIn(dir) {
		if exit, err := minder.ReadExit(step.exit()); err == nil {
			strays = append(strays, exit.Strays...)
		}
	}
	return strays
}

// leftoverOf is the lease that a report in the spool belongs to.
func leftoverOf(left []*leftover, id string) *lease {
	at := slices.IndexFunc(left, func(l *leftover) bool { return l.LeaseID == id })
	if at >= 0 {
		return left[at].lease
	}
	return strange(v1.HeldLease{LeaseID: id})
}

// strange is a lease of which nothing is on this disk but, perhaps, its report.
func strange(held v1.HeldLease) *lease {
	return &lease{
		stop: func(error) {}, clean: true,
		Assignment: v1.Assignment{
			LeaseID: held.LeaseID, DeviceID: held.DeviceID, DeviceKey: held.DeviceKey, Attempt: held.Attempt, Task: v1.AgentTask{ID: held.TaskID},
		},
	}
}

// outcomeOf is how an attempt of a former life ended: as its minder wrote it down, when the runner had ended by itself.
// Otherwise it is given back. It dispatches the assignment once more, but where the first time a program was started, what
// became of that program is read.
func (a *Agent) outcomeOf(ctx context.Context, l *leftover) phonebooth.Report {
	if l.phase != phaseRunning {
		return runner.Restarted.Report()
	}
	return a.dispatch(ctx, l.Assignment, workOf(l.Assignment), func(ctx context.Context, w runner.Work) runner.Ended {
		files := stepOf(l.dir, w)
		begun, err := files.begun()
		exit, missing := minder.ReadExit(files.exit())
		if errors.Join(err, missing) != nil {
			return runner.Ended{Report: runner.Restarted.Report()}
		}
		chosen, known := a.runners.Lookup(begun.Runner)
		if !known {
			return runner.Ended{Report: runner.Restarted.Report()}
		}
		read := func(context.Context, runner.Work) runner.Ended { return a.reread(l.lease, files, begun, exit, chosen) }
		return runner.Named(read, chosen)(ctx, w)
	})
}

// reread is the end of a program that ended under a former life, which may or may not have come to judge it.
func (a *Agent) reread(l *lease, files stepFiles, begun beginning, exit minder.Exit, chosen runner.Registration) runner.Ended {
	log := sectionAt(logPath(l.dir), begun.File)
	end := begun.Log
	switch {
	case begun.End != nil:
		end = *begun.End
		log.shorten(end - begun.Log)
	case log != nil:
		end += log.Size()
	}
	left := a.read(runner.Nothing, exit, files.place(), chosen.Runner, log)
	if begun.End == nil {
		a.jot(l, left.notes)
	}
	return begun.ended(runner.Ended{Report: runner.Judge(left.evidence), Outputs: left.outputs}, exit, end)
}

// regather takes in what is to be sent of the steps of a former life, as far as that had not come to it.
func (a *Agent) regather(l *lease) {
	for _, files := range stepsIn(l.dir) {
		begun, err := files.begun()
		if err != nil {
			continue // nothing was started
		}
		chosen, _ := a.runners.Lookup(begun.Runner)
		notes, found := a.gather(l, files, begun, chosen, a.eventsOf(l, files, begun.Label))
		a.jot(l, notes)
		l.sending.artifacts.add(files.place().Dir, found)
	}
}

// lonePlaces finds the working directories that no journal entry leads to: each by the lease whose log may be in it. Those
// that are nobody's are removed.
func (a *Agent) lonePlaces(left []*leftover) map[string]string {
	names, err := os.ReadDir(a.home.placeDir())
	if err != nil {
		return nil // there are none
	}
	lone := map[string]string{}
	for _, name := range names {
		dir := filepath.Join(a.home.placeDir(), name.Name())
		if slices.ContainsFunc(left, func(l *leftover) bool { return l.dir == dir }) {
			continue
		}
		owner, err := os.ReadFile(ownerPath(dir))
		if err == nil && len(owner) > 0 {
			lone[string(owner)] = dir
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			a.log.Error("cannot remove a working directory", "err", err)
		}
	}
	return lone
}

// resume sends what recover wrote, and gives back the leases that only the control plane knows of: their claim was
// answered, and the agent died before it wrote them down. It returns when each report was answered in some way, true, or
// false when the agent must stop before that. Only then work is asked for (C06).
func (a *Agent) resume(ctx, life context.Context, parcels []*parcel, held []v1.HeldLease) bool {
	for _, h := range held {
		if a.leases.find(h.LeaseID) == nil {
			p := &parcel{lease: strange(h), request: a.requestOf(h.LeaseID, runner.Restarted.Report())}
			a.leases.add(p.lease)
			a.keep(p)
			parcels = append(parcels, p)
		}
	}
	var waits []<-chan struct{}
	for _, p := range parcels {
		p.answered = make(chan struct{})
		waits = append(waits, p.answered)
		a.deliveries.Go(func() {
			a.awaitSending(life, p.lease)
			a.deliver(life, p)
		})
	}
	for _, answered := range waits {
		select {
		case <-answered:
		case <-ctx.Done():
			return false
		case <-a.failed:
			return false
		}
	}
	return true
}

// comeBack takes up what is left to do for a lease of a former life beside its report: its logs and artifacts, and its device
// if that could not be freed. It comes before the first inventory, which must not call such a device ready.
func (a *Agent) comeBack(life context.Context, l *lease) {
	if l.dir != "" {
		l.sending = a.startSending(life, l)
		_ = l.sending.follow() // a report of the former life may have announced them
		a.regather(l)
		l.sending.finish()
	}
	if !l.hands {
		return
	}
	a.pool.take(l.key(), l.LeaseID)
	if !l.clean {
		a.pool.handle(l.key(), func(h *lifecycle.Hands) { h.Process = true })
		a.attempts.Go(func() { a.clean(life, l) })
	}
}
