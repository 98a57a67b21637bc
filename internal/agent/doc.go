// Package agent is the host side: it tells the control plane which devices there are, claims work for them, runs it under a
// lease, and reports how it ended.
//
// It decides nothing about tasks: no queue, no matching, no retry. It knows devices by package bridge, programs by package
// runner, and the control plane by the interface [Server]. What it may believe of a lease is in package lifecycle.
//
//	home, err := agent.OpenHome(dir)                       // one agent a directory
//	id, err := home.Enroll(ctx, enroller, token, name)     // once; afterwards home.Identity()
//	a, err := agent.New(home, server, bridges, runners, agent.Options{})
//	err = a.Run(ctx)                                       // until ctx ends, or another agent takes over
//
// The binary calls minder.Main and fake.Main for their hidden verbs before anything else.
//
// # The order of things
//
//  1. Run kills what a former life left and writes down how that ended, starts a new incarnation, and sends every report
//     that waits. Only then does it ask for work.
//  2. An assignment is in the journal before anything is done for it. It runs in a stack of stages, each in its file: allowed
//     (begin.go), journaled, locked, opened (stage.go), dispatched (drive.go); below the last one the dispatcher
//     calls launch (process.go), which puts the program under a minder.
//  3. The lease's belief is the one source of the fence (lease.go). Each renewal moves it and the minder's deadline. At the
//     fence the access is cut and everything is killed; the minder does that by itself if the agent cannot.
//  4. A report is in the spool before it is sent (outbox.go), and its lease is renewed until the report is answered. The log
//     goes before it, for a bounded time, and then beside it; the working directory stays until the log is up, or was given
//     up, and names its lease, so that the next life sends the rest (upload.go).
//  5. The device is ready again when no process, no access and no cleaning of any lease is left on it (pool.go, clean.go).
//
// # Its rooms
//
// Packages below this one do one thing each, and know nothing of leases:
//
//   - minder owns one runner's processes, in a process of its own, and kills them at the deadline whatever the agent does;
//   - journal and spool remember attempts and reports on the disk, as files of diskmap, which are replaced whole;
//   - tail takes a program's events in as it writes them, and mask hides the host's secrets in all that is sent;
//   - artifact finds the files that a program left, and refuses those that lead elsewhere.
//
// What is sent beside a report (sending.go) is three logs, each by an upload that reads its file as it grows (upload.go,
// logfile.go), and the artifacts, by a courier that removes what has arrived (courier.go). Hooks (hook.go) are the host's own
// programs that put a device in order when its bridge has done so; they are run under a minder as well, through an access of
// their own, and a probe of a device in quarantine (probe.go) ends with the same cleaning.
//
// Everything that waits does so in a goroutine that Run waits for. Lease time is Options.Now and nothing else.
package agent
