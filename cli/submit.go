package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

// submission is what the flags of submit say.
type submission struct {
	goal, goalFile, workflow string
	driver, runner           string
	device, host             string
	tags, inputs             []string
	labels                   map[string]string
	priority, maxAttempts    int
	timeout, queueTimeout    time.Duration
	key, file                string
	wait, follow, dryRun     bool
	cancelOnInterrupt        bool
	progress                 progressMode
	out                      *format
}

func (p *program) submit() *cobra.Command {
	cmd := &cobra.Command{
		Use: "submit", Short: "Submit a task: a goal, or a workflow, for some matching device", Args: takes(),
		Long: "Submits a task and prints its id. With --wait it goes on until the task has ended, and the exit code says how: 0 done, " +
			"1 failed, 3 cancelled. Meanwhile a terminal shows where the task stands and why it waits; --follow also prints what its runner writes.\n\n" +
			"Ctrl-C while waiting asks whether to cancel the task; a second one leaves it running and exits with 130, as the first one does " +
			"where nobody can be asked. With --cancel-on-interrupt, as for CI, the task is cancelled without a question, and its end is waited for.\n\n" +
			"A goal that begins with a hyphen is given as --goal=-x, a long one with --goal-file FILE or from standard input with --goal -, " +
			"without the line break at its end.\n\n" +
			"--file submits many tasks, all or none. It is a list of tasks in YAML, or JSON Lines, with the fields of the API: goal, or workflow " +
			"with name, version and inputs; constraints with driver_type, tags, runner, device_id and host_id; timeout_s, queue_timeout_s, " +
			"priority, max_attempts, labels. What all have in common may stand apart:\n\n" +
			"  defaults:\n" +
			"    constraints: {driver_type: android}\n" +
			"  tasks:\n" +
			"    - goal: open Settings and turn on dark mode\n" +
			"    - workflow: {name: login, inputs: {user: ada}}\n" +
			"      timeout_s: 600\n\n" +
			"With --wait each is printed as it ends, and the exit code is the worst one's: 1 if any failed, else 3 if any was cancelled.",
		Example: `phonebooth submit --goal "open Settings and turn on dark mode" --wait
phonebooth submit --runner adb-shell --goal "uptime" --follow
phonebooth submit --goal "run the smoke test" --follow --cancel-on-interrupt --progress plain
phonebooth submit --workflow dark-mode@2 --input app=Clock --tag pixel --wait
phonebooth submit --file tasks.yaml --dry-run
phonebooth submit --file tasks.yaml --label run=1234 --idempotency-key ci-1234 --wait`,
	}
	s := &submission{out: prints(cmd), progress: progressAuto}
	s.flags(cmd)
	s.batchFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("file") {
			return p.submitFile(cmd, s)
		}
		return p.runSubmit(cmd, s)
	}
	return p.asks(cmd)
}

func (s *submission) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.goal, "goal", "", "what the device should do; - reads it from standard input")
	f.StringVar(&s.goalFile, "goal-file", "", "file that holds the goal")
	f.StringVar(&s.workflow, "workflow", "", "instead of a goal: NAME or NAME@VERSION")
	f.StringArrayVar(&s.inputs, "input", nil, "of the workflow: NAME=VALUE; may be repeated")
	f.StringVar(&s.driver, "driver", "", "driver type of the device, such as android or sim")
	f.StringArrayVar(&s.tags, "tag", nil, "tag that the device must have; may be repeated")
	f.StringVar(&s.runner, "runner", "", "runner to use (default: the host's own for the device)")
	f.StringVar(&s.device, "device", "", "on this device only, by id or name")
	f.StringVar(&s.host, "host", "", "on devices of this host only, by id or name")
	f.StringToStringVar(&s.labels, "label", nil, "find the task by it: KEY=VALUE; may be repeated")
	f.IntVar(&s.priority, "priority", 0, "from -10 to 10, larger goes first, under strategies that look at it")
	f.DurationVar(&s.timeout, "timeout", phonebooth.DefaultTimeout, "for one attempt, up to 24h")
	f.DurationVar(&s.queueTimeout, "queue-timeout", 0, "the task fails when it still waits then; without one it waits for ever")
	f.IntVar(&s.maxAttempts, "max-attempts", phonebooth.DefaultMaxAttempts, "how often it may be tried when a host gives it up, 1 to 10")
	f.StringVar(&s.key, "idempotency-key", "", "a second submission under the same key is the same task (default: a new key)")
	f.BoolVar(&s.wait, "wait", false, "wait until the task has ended")
	f.BoolVar(&s.follow, "follow", false, "wait, and print what the runner writes")
	f.BoolVar(&s.cancelOnInterrupt, "cancel-on-interrupt", false, "Ctrl-C or SIGTERM while waiting cancels the task without asking, and waits for its end")
	f.Var(&s.progress, "progress", "how to tell on standard error where a task stands that is waited for: auto (a live line at a terminal), plain (a line for each change), none")
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("progress", cobra.FixedCompletions(
		[]string{string(progressAuto), string(progressPlain), string(progressNone)}, cobra.ShellCompDirectiveNoFileComp)))
	f.BoolVar(&s.dryRun, "dry-run", false, "submit nothing: check it, and say where it would start or what it would wait for")
}

// request checks the flags and makes the request of them.
func (s *submission) request(cmd *cobra.Command) (v1.TaskRequest, error) {
	given := cmd.Flags().Changed
	var r v1.TaskRequest
	sources := 0
	for _, name := range []string{"goal", "goal-file", "workflow"} {
		if given(name) {
			sources++
		}
	}
	switch {
	case sources != 1:
		return r, usage(cmd, "give exactly one of --goal, --goal-file and --workflow")
	case given("input") && !given("workflow"):
		return r, usage(cmd, "--input belongs to --workflow: a goal has no inputs")
	case s.follow && *s.out == formatJSON:
		return r, usage(cmd, "--follow prints the log where -o json prints the task: use --wait with -o json")
	case s.dryRun && (s.wait || s.follow):
		return r, usage(cmd, "--dry-run submits nothing that could be waited for: leave out --wait and --follow")
	case s.cancelOnInterrupt && !s.wait && !s.follow:
		return r, usage(cmd, "--cancel-on-interrupt is for a task that is waited for: add --wait or --follow")
	case given("idempotency-key") && phonebooth.ValidIdempotencyKey(s.key) != nil:
		return r, usage(cmd, "an idempotency key is 1 to %d printable characters without spaces", phonebooth.MaxKeyBytes)
	case given("max-attempts") && s.maxAttempts < 1:
		return r, usage(cmd, "--max-attempts must be between 1 and %d", phonebooth.MaxAttemptLimit)
	}
	for _, name := range []string{"driver", "runner", "device", "host"} {
		if given(name) && cmd.Flag(name).Value.String() == "" {
			return r, usage(cmd, "--%s is empty, which would allow any: leave it out if that is meant", name)
		}
	}
	for name, d := range map[string]time.Duration{"timeout": s.timeout, "queue-timeout": s.queueTimeout} {
		if given(name) && (d < time.Second || d%time.Second != 0) {
			return r, usage(cmd, "--%s is whole seconds, one at least, such as 90s or 30m", name)
		}
	}
	r = v1.TaskRequest{
		Constraints: v1.Constraints{DriverType: s.driver, Tags: s.tags, Runner: s.runner},
		TimeoutS:    int64(s.timeout / time.Second), QueueTimeoutS: int64(s.queueTimeout / time.Second),
		Priority: s.priority, MaxAttempts: s.maxAttempts, Labels: s.labels,
	}
	var err error
	if given("workflow") {
		r.Workflow, err = s.workflowOf(cmd)
	} else {
		r.Goal, err = s.readGoal(cmd)
	}
	if err != nil {
		return r, err
	}
	if refusal, ok := errors.AsType[*phonebooth.Error](r.Spec().Validate()); ok {
		return r, usage(cmd, "%s", refusal.Message)
	}
	return r, nil
}

// readGoal is the goal from wherever it is given.
func (s *submission) readGoal(cmd *cobra.Command) (string, error) {
	in := cmd.InOrStdin()
	switch {
	case s.goalFile != "":
		f, err := os.Open(s.goalFile)
		if err != nil {
			return "", usage(cmd, "read the goal: %w", err)
		}
		defer f.Close()
		in = f
	case s.goal != "-":
		return s.goal, nil
	}
	text, err := io.ReadAll(io.LimitReader(in, phonebooth.MaxGoalBytes+2)) // a longer one is refused by name of the limit
	if err != nil {
		return "", usage(cmd, "read the goal: %w", err)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"), nil
}

func (p *program) runSubmit(cmd *cobra.Command, s *submission) error {
	r, err := s.request(cmd)
	if err != nil {
		return err
	}
	c, err := p.connect(cmd, shortPatience)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	if r.Constraints.DeviceID, err = deviceID(ctx, cmd, c, s.device); err != nil {
		return err
	}
	if r.Constraints.HostID, err = hostID(ctx, cmd, c, s.host); err != nil {
		return err
	}
	if s.dryRun {
		return dryRun(cmd, c, *s.out, r)
	}
	if s.key == "" {
		s.key = client.NewKey()
	}
	t, err := c.SubmitKey(ctx, s.key, r)
	if err != nil {
		return unsure(err, s.key)
	}
	if s.wait || s.follow {
		return p.await(cmd, s, t)
	}
	if *s.out == formatJSON {
		return printJSON(cmd.OutOrStdout(), t)
	}
	note(cmd, "%s; see: phonebooth task get %s", t.Status, t.ID)
	_, err = fmt.Fprintln(cmd.OutOrStdout(), t.ID)
	return err
}

// unsure tells how to repeat a submission that may have been stored although there was no answer.
func unsure(err error, key string) error {
	switch phonebooth.CodeOf(err) {
	case client.Unreachable, client.Unreadable, "outcome_unknown":
	default:
		return err
	}
	if errors.Is(err, context.Canceled) {
		return &failure{
			status: exitInterrupted, err: errors.New("interrupted; the task may have been stored"),
			next: []string{"the same command with --idempotency-key " + key + " finds it, or submits it"},
		}
	}
	return &failure{
		status: exitCode(err), err: err,
		next: append(next(err), "the same command with --idempotency-key "+key+" never submits it twice"),
	}
}
