package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

func (p *program) eventFollow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "follow", Short: "Print events as they happen, until Ctrl-C", Args: takes(),
		Long: "Prints what is committed from now on, a line each, until Ctrl-C; with --after what is on record behind that position first. " +
			"A stream that breaks is taken up where it broke, however long the server stays away.",
		Example: `phonebooth event follow
phonebooth event follow --after 0 --task TASK
phonebooth event follow --since 1h --kind task.done,task.failed --label suite=nightly
phonebooth event follow --kind 'device.*' --host rack-1
phonebooth event follow -o json | jq .kind`,
	}
	out := prints(cmd)
	var q client.EventQuery
	flags := cmd.Flags()
	flags.Int64Var(&q.After, "after", client.OnlyNew, "position to begin behind; 0 is the beginning of the record (default: only what is new)")
	flags.StringVar(&q.TaskID, "task", "", "of this task")
	flags.StringVar(&q.DeviceID, "device", "", "of this device, by id or name")
	flags.StringVar(&q.HostID, "host", "", "of this host, by id or name")
	flags.StringSliceVar(&q.Kinds, "kind", nil, "of any of these kinds: task.done, or task.* for all of tasks")
	flags.StringArrayVar(&q.Labels, "label", nil, "of a task with this label: KEY or KEY=VALUE; may be repeated")
	since := flags.String("since", "", "begin with what happened then: RFC 3339, a day such as 2026-03-01, or how long ago: 90m, 36h, 7d")
	flags.Lookup("after").DefValue = ""
	cmd.MarkFlagsMutuallyExclusive("after", "since")
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(kindForms(), cobra.ShellCompDirectiveNoFileComp)))
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if q.Since, err = moment(cmd, "since", *since); err != nil {
			return err
		}
		return p.followEvents(cmd, q, *out)
	}
	return p.asks(cmd)
}

func (p *program) followEvents(cmd *cobra.Command, q client.EventQuery, out format) error {
	if q.After < 0 && cmd.Flags().Changed("after") {
		return usage(cmd, "--after is a position: 0 or more")
	}
	c, err := p.connect(cmd, shortPatience)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	if q.DeviceID, err = deviceID(ctx, cmd, c, q.DeviceID); err != nil {
		return err
	}
	if q.HostID, err = hostID(ctx, cmd, c, q.HostID); err != nil {
		return err
	}
	// A server that is not there, and what it does not understand, is told at once and not awaited.
	first := q
	first.Limit = 1
	first.After = max(q.After, 0)
	if _, err := c.Events(ctx, first); err != nil && phonebooth.CodeOf(err) != "position_pruned" {
		return err
	}
	q.Pruned = func(oldest int64) {
		say(cmd, "events were removed after their retention; the record goes on at position %d", oldest)
	}
	if c, err = p.connectWith(cmd, client.Options{Patience: endless, Transport: newOutages(cmd)}); err != nil {
		return err
	}
	who := &eventNames{client: c}
	for e, err := range c.Follow(ctx, q) {
		if err == nil && out == formatTable {
			who.learn(ctx, e)
		}
		if err == nil {
			err = printEvent(cmd.OutOrStdout(), e, out, who)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// kindForms are what --kind takes.
func kindForms() (forms []string) {
	for _, kind := range phonebooth.EventKinds() {
		sort, _, _ := strings.Cut(string(kind), ".")
		if all := sort + ".*"; !slices.Contains(forms, all) {
			forms = append(forms, all)
		}
		forms = append(forms, string(kind))
	}
	return forms
}

// outages carries requests, one at a time, and tells a person once about each time that the server is away.
type outages struct {
	http.RoundTripper
	cmd  *cobra.Command
	away bool
}

func newOutages(cmd *cobra.Command) *outages {
	return &outages{RoundTripper: http.DefaultTransport, cmd: cmd}
}

// RoundTrip makes one call.
func (o *outages) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := o.RoundTripper.RoundTrip(r)
	away := err != nil || response.StatusCode >= http.StatusInternalServerError
	if away && !o.away && r.Context().Err() == nil {
		say(o.cmd, "the connection to the server is lost; waiting for it, Ctrl-C ends")
	}
	o.away = away
	return response, err
}

// printEvent writes one line.
func printEvent(w io.Writer, e v1.Event, out format, who *eventNames) error {
	if out == formatJSON {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(e)
	}
	subject := e.TaskID
	if e.Attempt > 0 {
		subject += fmt.Sprintf(" attempt %d", e.Attempt)
	}
	parts := []string{subject, who.name(e.DeviceID), who.name(e.HostID)}
	d := e.Detail
	parts = append(parts, string(d.Status), string(d.Condition), string(d.Hold), d.Code, d.Message, d.Reason, d.Name, d.Strategy, string(d.Outcome))
	line := fmt.Sprintf("%6d %s %-21s by %s", e.Pos, e.At.Local().Format("15:04:05.000"), e.Kind, e.Actor)
	for i, part := range parts {
		if part != "" && !slices.Contains(parts[:i], part) { // a status, a code and an outcome are often one word
			line += " " + part
		}
	}
	_, err := fmt.Fprintln(w, clean(strings.TrimRight(line, " ")))
	return err
}
