// Package runner is the contract with the programs that do the work: a phone agent, a test suite, a shell.
//
// A runner is an existing program, not a library. A [Runner] says what to start for a goal and how to read what the
// program left; it starts nothing by itself. Whoever runs a program (the Host Agent, under a process of its own that
// kills at the end of the lease) does it in three steps, in this order:
//
//	command, err := r.Command(work)                       // argv, variables, how to stop it; work.With = command.With
//	place, err := runner.Prepare(dir, work)               // a fresh working directory with the goal in it
//	env := runner.Environ(os.Environ(), work, place, command.Env, access.Env())
//	... the program runs and ends ...
//	report := runner.Judge(runner.Evidence{Exit: exit, Result: result})
//
// # What a program may count on
//
// It runs in a fresh directory of its own (mode 0700) with the null device as standard input. What it writes to standard
// output and standard error is the attempt's log; where it writes more than can be sent, a mark stands for what was dropped. Its
// environment holds, of the host's own variables, those on a short list (PATH, HOME, locale, Android and Java homes, proxies),
// what the host's configuration and the device's bridge add, and:
//
//	PHONEBOOTH_TASK_ID    the task
//	PHONEBOOTH_ATTEMPT    number of the attempt, from 1
//	PHONEBOOTH_GOAL       the goal, byte for byte
//	PHONEBOOTH_DEVICE_ID  the device
//	PHONEBOOTH_SERIAL     the name under which the device is driven
//	PHONEBOOTH_INPUT      a file that holds all of this as JSON, see [Input]
//	PHONEBOOTH_RESULT     where the program may leave a result as JSON, see [ReadResult]
//	PHONEBOOTH_WITH_NAME  each input of its runner that has a value: given, see [Work].With, or the runner's default
//	PHONEBOOTH_OUTPUTS    where the program may write NAME=VALUE lines for later steps, see [ReadOutputs]
//	PHONEBOOTH_EVENTS     where the program may write one JSON value a line, see [ParseEvent]
//	PHONEBOOTH_ARTIFACTS  a directory for files to keep
//	PHONEBOOTH_DEADLINE   when the attempt times out, RFC 3339 in UTC
//	PHONEBOOTH_PORT_BASE  the first of 20 TCP ports that no other device's runner of this host uses
//	PHONEBOOTH_COOKIE     marks the program's processes; leave it alone
//
// # Secrets
//
// Registration.Secrets names secrets of the host, by the variables as which the program gets them; a program whose runner names
// none gets none, and no task can ask for one. A host that lacks one fails the attempt as credentials before anything starts. The
// host hides the values in what it sends: the logs, events, results, outputs and messages. It does not look into artifacts, and
// does not find what a program made of a value.
//
// # Limits
//
// [Limits] bound the time of one step, how long a program may be silent, and what it leaves as artifacts; whoever goes beyond
// them is stopped like one that is cancelled, and fails. The contract's files are bounded for all: [MaxResultBytes],
// [MaxOutputBytes], [MaxEventBytes]; what is longer does not count, and a line in the log says so. Of the output of a program
// whose runner reads it, [MaxReadLog] are kept for that; the log itself has no limit.
//
// # How it ends
//
// A cancellation is a signal to its process group, then SIGTERM, then SIGKILL. Whatever it started is killed after it.
// Its exit code says how it went when it leaves no result: see [Judge].
//
// A [Registry] is a value that a program fills and passes on; package runner/builtin fills one with what ships. Runners
// must be safe for use by any number of goroutines. Check one with package runner/runnertest.
package runner
