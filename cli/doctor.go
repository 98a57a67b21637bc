package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/bridge"
)

func (p *program) doctor() *cobra.Command {
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look whether this machine is fit to be a host, and say what to do about what is not", Args: takes(),
		Long: "Looks at everything that a Host Agent of this machine depends on: its configuration, disk, clock, control plane and token, adb, " +
			"each device and each runner. It takes the agent's flags and configuration file, may be run beside the agent, and changes nothing but " +
			"that it starts a missing adb server, as the agent would, and says so.\n\n" +
			"ok is well; odd works, but look at it; idle is not there and not asked for; ill is what must be mended. It exits with 0 if " +
			"nothing is ill, and with 1 otherwise.",
		Example: `phonebooth doctor --config agent.yaml
phonebooth doctor --server https://phones:8420 --data phonebooth-agent -o json`,
	}
	s := defaultAgent()
	s.bind(cmd.Flags())
	file := configFlag(cmd)
	out := prints(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		r := &findings{cmd: cmd, list: []bridge.Finding{}, quiet: *out == formatJSON}
		p.examine(cmd.Context(), r, *file, s)
		if *out == formatJSON {
			if err := printJSON(cmd.OutOrStdout(), r.list); err != nil {
				return err
			}
		}
		return r.sum()
	}
	return cmd
}

// findings are what the doctor has found so far, printed as it goes.
type findings struct {
	cmd   *cobra.Command
	list  []bridge.Finding
	quiet bool
}

// add prints f too.
func (r *findings) add(f bridge.Finding) {
	r.list = append(r.list, f)
	if r.quiet {
		return
	}
	w := colorprofile.NewWriter(r.cmd.OutOrStdout(), os.Environ())
	style := lipgloss.NewStyle().Foreground(verdictColours[f.Verdict]).Bold(f.Verdict == bridge.Ill)
	_, _ = fmt.Fprintf(w, "%s %-22s  %s\n", style.Render(fmt.Sprintf("%-5s", f.Verdict)), clean(f.Subject), strings.ReplaceAll(cleanLines(f.Message), "\n", "\n"+strings.Repeat(" ", 28)))
	if f.Advice != "" {
		_, _ = fmt.Fprintf(w, "      %-22s  -> %s\n", "", clean(f.Advice))
	}
}

var verdictColours = map[bridge.Verdict]lipgloss.ANSIColor{bridge.Well: 2, bridge.Odd: 3, bridge.Idle: 8, bridge.Ill: 1}

func (r *findings) well(subject, format string, args ...any) {
	r.add(bridge.Finding{Subject: subject, Verdict: bridge.Well, Message: fmt.Sprintf(format, args...)})
}

func (r *findings) ill(subject, message string, advice ...string) {
	r.add(bridge.Finding{Subject: subject, Verdict: bridge.Ill, Message: message, Advice: strings.Join(advice, "; ")})
}

// error is ill of what a verb of the command line would have said for err.
func (r *findings) error(subject string, err error) {
	r.ill(subject, inWords(err), next(err)...)
}

// sum is the last line, and the exit status.
func (r *findings) sum() error {
	count := func(v bridge.Verdict) int {
		n := 0
		for _, f := range r.list {
			if f.Verdict == v {
				n++
			}
		}
		return n
	}
	ill := count(bridge.Ill)
	if !r.quiet {
		say(r.cmd, "%d ok, %d odd, %d idle, %d ill", count(bridge.Well), count(bridge.Odd), count(bridge.Idle), ill)
	}
	if ill == 0 {
		return nil
	}
	return &failure{status: exitFailed}
}

// examine looks at one thing after the other. What cannot be looked at without something that is ill is left out.
func (p *program) examine(ctx context.Context, r *findings, file string, flags agentSettings) {
	s, err := settledForBoth(r.cmd, file, flags)
	if err != nil {
		r.error("configuration", err)
		return
	}
	if file == "" {
		r.well("configuration", "the flags alone; an agent with a file is looked at with --config FILE")
	} else {
		r.well("configuration", "%s", file)
	}
	id := examineData(r, s.Data)
	examineClock(ctx, r)
	held := p.examineServer(ctx, r, s, id)
	bridges, err := s.Host.bridges(p.opts.Bridges)
	if err != nil {
		r.error("bridges", err)
		return
	}
	runners := examineRunners(r, s.Host.Presets, s.Host.Secrets, p.opts.Runners)
	if runners == nil {
		return
	}
	_, without := s.Host.Secrets.read()
	for _, name := range slices.Sorted(maps.Keys(without)) {
		r.ill("secret "+name, without[name], "the runners that name it fail until then")
	}
	if _, err := s.Host.Cleanup.hooks(); err != nil {
		r.error("cleanup", err)
	}
	for _, name := range slices.Sorted(maps.Keys(bridges)) {
		examineBridge(ctx, r, name, bridges[name], runners, func(key string) v1.Device {
			return held[phonebooth.DeviceIDOf(id.Identity.HostID, key)]
		})
	}
	if !slices.ContainsFunc(r.list, func(f bridge.Finding) bool { return strings.HasPrefix(f.Subject, deviceSubject) }) {
		r.ill("devices", "this host has none", "attach a phone; or name a bridge of another kind under bridges in the configuration")
	}
}
