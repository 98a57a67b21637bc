package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
	"github.com/phonebooth-dev/phonebooth/internal/taskfile"
)

// ofOneTask are the flags of submit that say what one task is.
var ofOneTask = []string{
	"goal", "goal-file", "workflow", "input", "driver", "tag", "runner", "device", "host", "priority", "timeout", "queue-timeout", "max-attempts",
}

// batchFlags are those of a submission of many tasks.
func (s *submission) batchFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.file, "file", "", "instead of a goal: a YAML or JSON Lines file of tasks, all or none; - is standard input")
	cobra.CheckErr(cmd.MarkFlagFilename("file", "yaml", "yml", "jsonl", "ndjson", "json"))
}

// submitFile submits the tasks of a file, all or none.
func (p *program) submitFile(cmd *cobra.Command, s *submission) error {
	file, err := s.readTasks(cmd)
	if err != nil {
		return err
	}
	c, err := p.connect(cmd, shortPatience)
	if err != nil {
		return err
	}
	if s.dryRun {
		return s.dryRunAll(cmd, c, file)
	}
	if s.key == "" {
		s.key = client.NewKey()
	}
	var before int64
	if s.wait {
		if before, err = newestEvent(cmd.Context(), c); err != nil {
			return err
		}
	}
	tasks, err := c.SubmitBatch(cmd.Context(), s.key, file.Tasks)
	if err != nil {
		return s.refusedBatch(file, err)
	}
	if s.wait {
		return p.awaitAll(cmd, s, tasks, before)
	}
	if *s.out == formatJSON {
		return printJSON(cmd.OutOrStdout(), v1.TaskBatch{Tasks: tasks})
	}
	for _, t := range tasks {
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), t.ID); err != nil {
			return err
		}
	}
	note(cmd, "%s; see: phonebooth task list", counted(len(tasks), "task"))
	return nil
}

// checkBatch refuses flags that make no sense with a file of tasks.
func (s *submission) checkBatch(cmd *cobra.Command) error {
	given := cmd.Flags().Changed
	for _, name := range ofOneTask {
		if given(name) {
			return usage(cmd, "--%s says what one task is: with --file it belongs into the file, for all tasks under defaults", name)
		}
	}
	switch {
	case s.file == "":
		return usage(cmd, "--file is empty: name a file, or - for standard input")
	case s.follow:
		return usage(cmd, "--follow prints one log: use --wait with --file, and phonebooth task log TASK --follow for one of its tasks")
	case s.dryRun && s.wait:
		return usage(cmd, "--dry-run submits nothing that could be waited for: leave out --wait")
	case s.cancelOnInterrupt && !s.wait:
		return usage(cmd, "--cancel-on-interrupt is for tasks that are waited for: add --wait")
	case given("idempotency-key") && phonebooth.ValidIdempotencyKey(s.key) != nil:
		return usage(cmd, "an idempotency key is 1 to %d printable characters without spaces", phonebooth.MaxKeyBytes)
	}
	return nil
}

// readTasks reads the file, and gives every task the labels of the command line.
func (s *submission) readTasks(cmd *cobra.Command) (file taskfile.File, err error) {
	if err := s.checkBatch(cmd); err != nil {
		return file, err
	}
	in := cmd.InOrStdin()
	if s.file != "-" {
		f, err := os.Open(s.file)
		if err != nil {
			return file, usage(cmd, "read the tasks: %w", err)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, taskfile.MaxBytes+1)) // one more is refused by name of the limit
	if err != nil {
		return file, usage(cmd, "read the tasks: %w", err)
	}
	file, problems := taskfile.Read(string(text), slices.Contains([]string{".jsonl", ".ndjson"}, filepath.Ext(s.file)))
	if len(problems) > 0 {
		return file, s.mistakes(problems)
	}
	for i := range file.Tasks {
		t := &file.Tasks[i]
		if len(s.labels) > 0 {
			t.Labels = merged(t.Labels, s.labels)
		}
		if _, err := t.Checked(); err != nil {
			refusal, _ := errors.AsType[*phonebooth.Error](err)
			return file, usage(cmd, "with --label task %d of the file has a mistake: %s", i+1, refusal.Message)
		}
	}
	return file, nil
}

func merged(labels, more map[string]string) map[string]string {
	all := maps.Clone(more)
	for key, value := range labels {
		all[key] = cmp.Or(more[key], value)
	}
	return all
}

// maxMistakes is how many mistakes of a file are told at once.
const maxMistakes = 20

// mistakes tells what is wrong with the file.
func (s *submission) mistakes(problems []*phonebooth.Error) error {
	var lines []string
	for _, p := range problems[:min(len(problems), maxMistakes)] {
		lines = append(lines, s.inBatch(p))
	}
	if more := len(problems) - len(lines); more > 0 {
		lines = append(lines, "and "+counted(more, "more mistake"))
	}
	return &failure{status: exitUsage, err: errors.New(strings.Join(lines, "\n")), next: []string{
		"nothing was submitted; the fields of a task are those of the API: see phonebooth submit --help",
	}}
}

// inBatch is a mistake as compilers show it, with the index of its task.
func (s *submission) inBatch(e *phonebooth.Error) string {
	index := e.Detail["index"]
	if index == "" {
		return located(s.file, e)
	}
	own := *e
	own.Message = "tasks[" + index + "]: " + strings.TrimPrefix(e.Message, "/tasks/"+index+": ")
	return located(s.file, &own)
}

// refusedBatch tells what the server refused, and where that is in the file.
func (s *submission) refusedBatch(file taskfile.File, err error) error {
	refusal, ok := errors.AsType[*phonebooth.Error](err)
	if !ok || refusal.Detail["index"] == "" {
		return unsure(err, s.key)
	}
	return &failure{
		status: exitCode(err), err: errors.New(s.inBatch(file.Locate(refusal)) + " (" + refusal.Code + ")"),
		next: append(next(err), "nothing was submitted"),
	}
}

// dryRunAll says of each task what its submission would meet. The first that would be refused ends it as the submission would.
func (s *submission) dryRunAll(cmd *cobra.Command, c *client.Client, file taskfile.File) error {
	explained := make([]v1.Explanation, len(file.Tasks))
	var refused *v1.Failure
	for i, req := range file.Tasks {
		e, err := c.ExplainRequest(cmd.Context(), req)
		if refusal, ok := errors.AsType[*phonebooth.Error](err); ok && !noAnswer(refusal.Code) {
			index := fmt.Sprint(i)
			return s.refusedBatch(file, refusal.With("index", index).With("pointer", "/tasks/"+index+refusal.Detail["pointer"]))
		} else if err != nil {
			return err
		}
		if refused == nil {
			refused = e.Refusal
		}
		explained[i] = e
		if *s.out == formatJSON {
			continue
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "tasks[%d] %s\n", i, short(askedOf(req), 64)); err != nil {
			return err
		}
		for _, sentence := range e.Sentences {
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), "  "+clean(sentence)); err != nil {
				return err
			}
		}
	}
	if *s.out == formatJSON {
		if err := printJSON(cmd.OutOrStdout(), struct {
			Explanations []v1.Explanation `json:"explanations"`
		}{explained}); err != nil {
			return err
		}
	}
	if refused != nil {
		return &failure{status: exitRefused, err: errors.New(because(refused))}
	}
	return nil
}

// askedOf is what a request asks for, in a few words.
func askedOf(r v1.TaskRequest) string {
	if r.Workflow == nil {
		return r.Goal
	}
	if r.Workflow.Version == 0 {
		return "workflow " + r.Workflow.Name
	}
	return asked(v1.Task{Workflow: r.Workflow})
}
