package cli

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"
)

// presetRow is one preset, as preset list -o json prints it.
type presetRow struct {
	Name      string   `json:"name,omitempty"`
	Summary   string   `json:"summary,omitempty"`
	Drivers   []string `json:"drivers,omitempty"` // left out: all
	Fence     string   `json:"fence,omitempty"`
	ByName    bool     `json:"only_by_name,omitempty"`
	Verified  string   `json:"verified,omitempty"`
	Follows   string   `json:"follows,omitempty"`
	Needs     []string `json:"needs,omitempty"`
	Secrets   []string `json:"secrets,omitempty"`
	Source    string   `json:"source,omitempty"` // file, or "runners"; left out: it ships
	Available bool     `json:"available"`
	Reason    []string `json:"reason,omitempty"` // why it is not
}

func (p *program) presetList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the presets of this machine, and what each lacks", Args: takes(),
		Long: "Lists what a Host Agent on this machine would offer, and what it would not and why: programs that are not in PATH, files that " +
			"are wrong. --config FILE is the agent's: the host's own runners and presets are listed too.",
		Example: "phonebooth preset list\nphonebooth preset list --config agent.yaml",
	}
	out := prints(cmd)
	file := cmd.Flags().String("config", "", "the agent's configuration file")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := settledForBoth(cmd, *file, defaultAgent())
		if err != nil {
			return err
		}
		known, err := s.Host.Presets.look(p.opts.Runners)
		if err != nil {
			return usage(cmd, "%w", err)
		}
		rows := known.rows(s.Host.Secrets)
		if *out == formatJSON {
			return printJSON(cmd.OutOrStdout(), struct {
				Presets []presetRow `json:"presets"`
			}{rows})
		}
		table := make([][]string, len(rows))
		for i, r := range rows {
			table[i] = r.columns()
		}
		return printTable(cmd, "presets", []string{"PRESET", "DRIVERS", "FENCE", "TRIED WITH", "AVAILABLE"}, table)
	}
	return cmd
}

// rows is everything that is known, files that are wrong at the end.
func (k presets) rows(secrets secretSettings) []presetRow {
	_, without := secrets.read()
	rows := []presetRow{}
	for _, r := range k.all.All() {
		row := presetRow{
			Name: r.Name, Summary: r.Summary, Drivers: r.Drivers, Fence: r.Fence, ByName: r.OnlyByName, Verified: r.Verified, Follows: r.Follows,
			Needs: r.Needs, Secrets: r.Secrets, Source: k.source[r.Name], Available: true,
		}
		if reason := k.reason[r.Name]; reason != "" {
			row.Available, row.Reason = false, []string{reason}
		}
		if lacks := secrets.lacks(r.Secrets, without); lacks != "" {
			row.Available, row.Reason = false, append(row.Reason, "every task fails: "+lacks)
		}
		rows = append(rows, row)
	}
	for _, l := range k.broken {
		rows = append(rows, presetRow{Name: l.Runner.Name, Source: l.File, Reason: explained(l)})
	}
	return rows
}

// columns is r for people.
func (r presetRow) columns() []string {
	available := "yes"
	switch {
	case !r.Available:
		available = "no: " + strings.Join(r.Reason, "; ")
	case r.ByName:
		available = "yes, by its name"
	}
	drivers := strings.Join(r.Drivers, ",")
	if r.Fence != "" {
		drivers = cmp.Or(drivers, "all")
	}
	return []string{cmp.Or(r.Name, r.Source), drivers, r.Fence, r.tried(), available}
}

// tried is how far it was tried.
func (r presetRow) tried() string {
	switch {
	case r.Verified != "":
		return r.Verified
	case r.Follows != "":
		return "unverified: " + r.Follows
	case r.Source != "" && r.Fence != "":
		return "your own"
	}
	return ""
}
