package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
		command, err := chosen.Runner.Command(w)
		if err != nil {
			return runner.Ended{Report: refused(err)}
		}
		begun := beginning{Runner: chosen.Name, Log: l.log.size()}
		place, err := a.prepare(l, w, begun)
		if err != nil {
			a.noRoom("working directory", err)
			return runner.Ended{Report: runner.GivenBack("try_again", "the host could not make the working directory")}
		}
		m, err := minder.Start(ctx, a.spec(l, chosen, w, place, command))
		if err != nil {
			if did := runner.DidOf(ctx); did != runner.Nothing {
				return runner.Ended{Report: did.Report()}
			}
			a.noRoom("minder", err)
			return runner.Ended{Report: runner.GivenBack("try_again", "the host could not start the runner")}
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
		return begun.ended(runner.Judge(evidence), exit, l.log.size())
	}
}

// prepare makes the working directory for w, and writes down whose it is and how the work began.
func (a *Agent) prepare(l *lease, w runner.Work, begun beginning) (runner.Place, error) {
	place, err := runner.Prepare(placeOf(l.dir, w), w)
	if err != nil {
		return place, err
	}
	text, err := json.Marshal(begun)
	if err != nil {
		return place, err
	}
	return place, errors.Join(os.WriteFile(begunPath(l.dir, w), text, 0o600), os.WriteFile(ownerPath(l.dir), []byte(l.LeaseID), 0o600))
}

// beginning is what is written down of a program's start, for an agent that finds it ended.
type beginning struct {
	Runner string `json:"runner"`
	Log    int64  `json:"log"` // how long the attempt's log was
}

// ended is the end of what began so. log is how long the attempt's log is now.
func (b beginning) ended(report phonebooth.Report, exit minder.Exit, log int64) runner.Ended {
	return runner.Ended{
		Report: report, Log: runner.Section{Offset: b.Log, Bytes: max(log-b.Log, 0)}, Took: max(exit.Ended-exit.Started, 0),
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
func stepDir(dir string, w runner.Work) string {
	return filepath.Join(dir, fmt.Sprintf("step-%d.%d", w.Step, w.Try))
}
func placeOf(dir string, w runner.Work) string   { return filepath.Join(stepDir(dir, w), "place") }
func exitPath(dir string, w runner.Work) string  { return filepath.Join(stepDir(dir, w), exitFile) }
func begunPath(dir string, w runner.Work) string { return filepath.Join(stepDir(dir, w), "begun.json") }
func logPath(dir string) string                  { return filepath.Join(dir, "log") }

// ownerPath is the file that says whose log it is. The directory is there as long as something of the log may have to be sent,
// which is longer than the journal remembers the lease and the spool its report.
func ownerPath(dir string) string { return filepath.Join(dir, "lease") }

// spec is what the minder is told.
func (a *Agent) spec(l *lease, chosen runner.Registration, w runner.Work, place runner.Place, command runner.Command) minder.Spec {
	ladder := command.Stop.WithDefaults()
	return minder.Spec{
		Argv: command.Argv, Dir: place.Dir, Env: runner.Environ(a.options.Environ, w, place, command.Env, w.Env, l.reach().Env()),
		LogPath: logPath(l.dir), ExitPath: exitPath(l.dir, w), Cookie: l.cookie, Lock: l.lock.file,
		Deadline: l.fence(), Ladder: minder.Ladder{First: ladder.First, Grace: ladder.Grace, TermGrace: ladder.TermGrace},
		Journal: func(r minder.Record) error {
			return a.journal.Update(l.LeaseID, func(e *journal.Entry) {
				e.MinderPID, e.MinderStart, e.BootID, e.Phase = r.PID, r.Start, r.BootID, phaseRunning
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
	if parsed, ok := r.Parse(runner.End{Exit: e.Exit, Place: place}); ok {
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
