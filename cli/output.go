package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"
)

// format is the value of --output.
type format string

const (
	formatTable format = "table"
	formatJSON  format = "json"
)

func (f *format) String() string { return string(*f) }

// Set is called with what stands on the command line.
func (f *format) Set(text string) error {
	if text != string(formatTable) && text != string(formatJSON) {
		return errors.New("it is table or json")
	}
	*f = format(text)
	return nil
}

// Type is the word for the value in help texts.
func (f *format) Type() string { return "table|json" }

// prints gives cmd the flag --output.
func prints(cmd *cobra.Command) *format {
	f := formatTable
	cmd.Flags().VarP(&f, "output", "o", "table for people, or json: exactly the API's")
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(
		[]string{string(formatTable), string(formatJSON)}, cobra.ShellCompDirectiveNoFileComp)))
	return &f
}

// printJSON writes v as the API would.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// printTable writes rows under their headers; the empty table says what there is none of.
func printTable(cmd *cobra.Command, what string, headers []string, rows [][]string) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(cmd.ErrOrStderr(), "no", what)
		return err
	}
	for _, row := range rows {
		for i := range row {
			row[i] = clean(row[i])
		}
	}
	bold := lipgloss.NewStyle().Bold(true).PaddingRight(2)
	plain := lipgloss.NewStyle().PaddingRight(2)
	t := table.New().Headers(headers...).Rows(rows...).
		BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).BorderColumn(false).BorderHeader(false).
		StyleFunc(func(row, _ int) lipgloss.Style {
			if row == table.HeaderRow {
				return bold
			}
			return plain
		})
	w := colorprofile.NewWriter(cmd.OutOrStdout(), os.Environ())
	for line := range strings.Lines(t.String() + "\n") {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

// field is one line of a page about one thing.
type field struct{ name, value string }

// printPage writes the fields that have a value.
func printPage(w io.Writer, fields []field) error {
	for _, f := range fields {
		if f.value == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "%-14s %s\n", f.name, f.value); err != nil {
			return err
		}
	}
	return nil
}

// note tells a person at a terminal something; programs do not get it.
func note(cmd *cobra.Command, format string, args ...any) {
	if atTerminal(cmd.ErrOrStderr()) {
		say(cmd, format, args...)
	}
}

// say tells something on standard error, terminal or not.
func say(cmd *cobra.Command, format string, args ...any) {
	_, _ = fmt.Fprintln(cmd.ErrOrStderr(), clean(fmt.Sprintf(format, args...)))
}

func atTerminal(stream any) bool {
	f, ok := stream.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(f.Fd())
}

// clean is text of somebody else's on one line, without what would steer a terminal or turn its text around.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case steers(r):
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// steers reports whether r would steer a terminal or turn the text behind it around.
func steers(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == 0x2028 || r == 0x2029
}

// short is clean text that fits into a column.
func short(text string, columns int) string { return ansi.Truncate(clean(text), columns, "…") }

// stamp is a time for a page, "" for none.
func stamp(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// age is how long ago t was, for a column.
func age(t time.Time) string { return span(time.Since(t)) }

// span is a duration that a person reads at a glance.
func span(d time.Duration) string {
	switch d = max(d, 0); {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
