package agent

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/internal/agent/journal"
	"github.com/phonebooth-dev/phonebooth/internal/agent/minder"
	"github.com/phonebooth-dev/phonebooth/runner"
)

// launch is the task-execution entry point of a lease: it runs one goal as a process under a minder and judges its end.
func (a *Agent) launch(l *lease, chosen runner.Registration) runner.Execute {
	return func(ctx context.Context, w runner.Work) phonebooth.Report {
		command, err := chosen.Runner.Command(w)
		if err != nil {
			return refused(err)
		}
		place, err := runner.Prepare(placeOf(l.dir, w.Step), w)
		if err != nil {
			a.noRoom("working directory", err)
			return runner.GivenBack("try_again", "the host could not make the working directory")
		}
		if err := os.WriteFile(ownerPath(l.dir), []byte(l.LeaseID), 0o600); err != nil {
			a.noRoom("working directory", err)
			return runner.GivenBack("try_again", "the host could not make the working directory")
		}
		m, err := minder.Start(ctx, a.spec(l, chosen, w, place, command))
		if err != nil {
			if did := runner.DidOf(ctx); did != runner.Nothing {
				return did.Report()
			}
			a.noRoom("minder", err)
			return runner.GivenBack("try_again", "the host could not start the runner")
		}
		l.hold(m)
		defer l.hold(nil)
		unhook := context.AfterFunc(ctx, func() {
			if runner.DidOf(ctx) == runner.Fenced {
				m.Kill()
			} else {
				m.Stop()
			}
		})
		exit, _ := m.Wait(context.WithoutCancel(ctx)) // which cannot end, so there is no error
		unhook()
		l.strays = append(l.strays, exit.Strays...)
		a.log.Info("runner ended", append(l.task(), "cause", exit.Cause, "exit_code", exit.ExitCode, "signal", exit.Signal,
			"stray_killed", exit.StrayKilled, "stray_left", exit.StrayLeft)...)
		evidence := a.evidence(l, runner.DidOf(ctx), exit, place, chosen.Runner)
		if evidence.Did == runner.Nothing && evidence.NotStarted == "" {
			evidence.Gone = a.gone(ctx, l)
		}
		return runner.Judge(evidence)
	}
}

// refused is the end of an attempt for which its runner has no command.
func refused(err error) phonebooth.Report {
	if refusal, ok := errors.AsType[*phonebooth.Error](err); ok {
		return runner.ByName(refusal.Code, refusal.Message)
	}
	return runner.Failed("runner_misconfigured", "the runner has no command for this task")
}

const exitFile = "exit.json"

// The files of one step of an attempt. Step 0 is a whole task.
func stepDir(dir string, step int) string  { return filepath.Join(dir, "step-"+strconv.Itoa(step)) }
func placeOf(dir string, step int) string  { return filepath.Join(stepDir(dir, step), "place") }
func exitPath(dir string, step int) string { return filepath.Join(stepDir(dir, step), exitFile) }
func logPath(dir string) string            { return filepath.Join(dir, "log") }

// ownerPath is the file that says whose log it is. The directory is there as long as something of the log may have to be sent,
// which is longer than the journal remembers the lease and the spool its report.
func ownerPath(dir string) string { return filepath.Join(dir, "lease") }

// spec is what the minder is told.
func (a *Agent) spec(l *lease, chosen runner.Registration, w runner.Work, place runner.Place, command runner.Command) minder.Spec {
	ladder := command.Stop.WithDefaults()
	return minder.Spec{
		Argv: command.Argv, Dir: place.Dir, Env: runner.Environ(a.options.Environ, w, place, command.Env, l.reach().Env()),
		LogPath: logPath(l.dir), ExitPath: exitPath(l.dir, w.Step), Cookie: l.cookie, Lock: l.lock.file,
		Deadline: l.fence(), Ladder: minder.Ladder{First: ladder.First, Grace: ladder.Grace, TermGrace: ladder.TermGrace},
		Journal: func(r minder.Record) error {
			return a.journal.Update(l.LeaseID, func(e *journal.Entry) {
				e.MinderPID, e.MinderStart, e.BootID, e.Phase = r.PID, r.Start, r.BootID, phaseRunning+chosen.Name
			})
		},
		Command: a.options.Minder, Now: a.now,
	}
}

// evidence is what an exit and the files around it say. did is what the agent had done; it counts only when the program had
// not ended by itself before.
func (a *Agent) evidence(l *lease, did runner.Did, exit minder.Exit, place runner.Place, r runner.Runner) runner.Evidence {
	e := runner.Evidence{Exit: runner.Exit{Code: exit.ExitCode, Signal: exit.Signal}}
	switch exit.Cause {
	case minder.Exited:
	case minder.StartFailed:
		e.NotStarted = exit.Detail
		return e
	case minder.Signaled, minder.MinderLost:
		e.Exit.Signal, e.Did = cmp.Or(exit.Signal, "SIGKILL"), did
	case minder.AgentGone:
		e.Did = cmp.Or(did, runner.Restarted)
	default: // at the deadline, stopped or killed
		e.Did = cmp.Or(did, runner.Fenced)
	}
	result, err := runner.ReadResult(place.Result)
	if err != nil {
		a.log.Warn("the runner left no valid result", append(l.task(), "err", err)...)
	}
	e.Result = result
	if parsed, ok := r.Parse(e.Exit); ok {
		e.Parsed = &parsed
	}
	return e
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
