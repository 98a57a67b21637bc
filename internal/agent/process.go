package agent

import (
	"context"
	"errors"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/internal/agent/journal"
	"github.com/phonebooth-dev/phonebooth/internal/agent/minder"
	"github.com/phonebooth-dev/phonebooth/runner"
)

// launch runs one goal as a process of the chosen runner under a minder, and judges its end.
func (a *Agent) launch(l *lease, chosen runner.Registration) runner.Execute {
	return func(ctx context.Context, w runner.Work) runner.Ended {
		secrets, err := a.secretsFor(chosen)
		if err != nil {
			return runner.Ended{Report: refused(err)}
		}
		command, err := chosen.Runner.Command(w)
		if err != nil {
			return runner.Ended{Report: refused(err)}
		}
		if command.With != nil {
			w.With = command.With
		}
		if chosen.ReadsLog {
			l.sending.log.keep(runner.MaxReadLog)
			defer l.sending.log.keep(0)
		}
		files, begun := stepOf(l.dir, w), beginning{
			Runner: chosen.Name, Label: w.Label(), Log: l.sending.log.size(), File: l.sending.log.end(),
		}
		if err := prepare(files, w, begun); err != nil {
			a.noRoom("working directory", err)
			return runner.Ended{Report: runner.GivenBack("try_again", "the host could not make the working directory")}
		}
		spec := a.spec(l, files, command)
		spec.Env = runner.Environ(a.options.Environ, w, files.place(), command.Env, w.Env, secrets, l.reach().Env())
		m, err := minder.Start(ctx, spec)
		if err != nil {
			if did := runner.DidOf(ctx); did != runner.Nothing {
				return runner.Ended{Report: did.Report()}
			}
			a.noRoom("minder", err)
			return runner.Ended{Report: runner.GivenBack("try_again", "the host could not start the runner")}
		}
		limits := &limits{
			Limits: chosen.Limits, dir: spec.Dir, events: a.eventsOf(l, files, begun.Label), written: l.sending.log.size, now: a.now,
			trouble: func(err error) { a.noRoom("events", err) },
		}
		did, exit := a.supervise(ctx, l, m, limits)
		return a.conclude(ctx, l, files, begun, chosen, limits, did, exit)
	}
}

// prepare makes the working directory for w, and writes down how the work began.
func prepare(files stepFiles, w runner.Work, begun beginning) error {
	if _, err := runner.Prepare(files.place().Dir, w); err != nil {
		return err
	}
	return files.write(begun)
}

// supervise waits for the end of a program, and stops it when ctx ends or it goes beyond its limits. It returns what was done to it.
func (a *Agent) supervise(ctx context.Context, l *lease, m *minder.Minder, limits *limits) (runner.Did, minder.Exit) {
	l.hold(m)
	defer l.hold(nil)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	unhook := context.AfterFunc(ctx, func() {
		if runner.DidOf(ctx) == runner.Fenced {
			m.Kill()
		} else {
			m.Stop()
		}
	})
	watching, unwatch := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		limits.watch(watching, stop)
	}()
	exit, _ := m.Wait(context.WithoutCancel(ctx)) // which cannot end, so there is no error
	unwatch()
	<-watched
	unhook()
	l.strays = append(l.strays, exit.Strays...)
	a.log.Info("runner ended", append(l.task(), "cause", exit.Cause, "exit_code", exit.ExitCode, "signal", exit.Signal,
		"stray_killed", exit.StrayKilled, "stray_left", exit.StrayLeft)...)
	return runner.DidOf(ctx), exit
}

// conclude judges the end of a program, and takes in what it left.
func (a *Agent) conclude(ctx context.Context, l *lease, files stepFiles, begun beginning, chosen runner.Registration, limits *limits, did runner.Did, exit minder.Exit) runner.Ended {
	left := a.read(did, exit, files.place(), chosen.Runner, l.sending.log.section(begun.File))
	size := l.sending.log.size()
	begun.End = &size
	if err := files.write(begun); err != nil {
		a.noRoom("end of a step", err)
	}
	if left.evidence.Did == did { // it may have ended by itself all the same
		left.evidence.Limit = limits.exceeded
	}
	if left.evidence.Did == runner.Nothing && left.evidence.NotStarted == "" {
		left.evidence.Gone = a.gone(ctx, l)
	}
	notes, found := a.gather(l, files, begun, chosen, limits.events)
	l.sending.artifacts.add(files.place().Dir, found)
	a.jot(l, append(left.notes, notes...))
	return begun.ended(runner.Ended{Report: runner.Judge(left.evidence), Outputs: left.outputs}, exit, size)
}

// refused is the end of an attempt for which its runner has no command.
func refused(err error) phonebooth.Report {
	if refusal, ok := errors.AsType[*phonebooth.Error](err); ok {
		return runner.ByName(refusal.Code, refusal.Message)
	}
	return runner.Failed("runner_misconfigured", "the runner has no command for this task")
}

// spec is what the minder is told, but for the environment.
func (a *Agent) spec(l *lease, files stepFiles, command runner.Command) minder.Spec {
	ladder := command.Stop.WithDefaults()
	return minder.Spec{
		Argv: command.Argv, Dir: files.place().Dir, LogPath: logPath(l.dir), ExitPath: files.exit(), Cookie: l.cookie, Lock: l.lock.file,
		Deadline: l.fence(), Ladder: minder.Ladder{First: ladder.First, Grace: ladder.Grace, TermGrace: ladder.TermGrace},
		Journal: func(r minder.Record) error {
			return a.journal.Update(l.LeaseID, func(e *journal.Entry) {
				e.MinderPID, e.MinderStart, e.BootID, e.Phase = r.PID, r.Start, r.BootID, phaseRunning
			})
		},
		Command: a.options.Minder, Now: a.now,
	}
}

// probeLimit bounds the question whether a device is still there.
const probeLimit = 5 * time.Second

// gone asks whether the device that the lease was given is not there any more.
func (a *Agent) gone(ctx context.Context, l *lease) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeLimit)
	defer cancel()
	err := l.reach().Probe(ctx)
	if err != nil && !errors.Is(err, bridge.ErrGone) {
		a.log.Warn("device could not be probed", append(l.task(), "err", err)...)
	}
	return errors.Is(err, bridge.ErrGone)
}
