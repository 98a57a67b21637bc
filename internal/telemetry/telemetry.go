// Package telemetry is what operators see: logs, metrics, and the type that keeps
// secrets out of both.
//
//	log := telemetry.NewLogger(os.Stderr, telemetry.FormatAuto, slog.LevelInfo)
//	metrics := telemetry.NewMetrics()
//	mux.Handle("/metrics", metrics.Handler())
//
// Loggers and Metrics are values that constructors are given: there is no default
// logger and no default registry, so two systems in one process do not mix. It is not
// the record of what happened to tasks: that is the events in the store.
//
// All of it may be called from any number of goroutines.
package telemetry

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/lmittmann/tint"
)

// Format is how log lines look. It is a flag's value: encoding.TextUnmarshaler.
type Format string

// The formats of --log-format.
const (
	FormatAuto  Format = "auto"  // color on a terminal, text elsewhere
	FormatColor Format = "color" // for eyes
	FormatText  Format = "text"  // key=value
	FormatJSON  Format = "json"  // one object a line
)

// Formats are the known formats, in the order to name them in.
func Formats() []Format { return []Format{FormatAuto, FormatColor, FormatText, FormatJSON} }

// UnmarshalText refuses a format that is not known and names those that are.
func (f *Format) UnmarshalText(text []byte) error {
	if !slices.Contains(Formats(), Format(text)) {
		var known []string
		for _, k := range Formats() {
			known = append(known, string(k))
		}
		return fmt.Errorf("unknown log format %q: it is one of %s", text, strings.Join(known, ", "))
	}
	*f = Format(text)
	return nil
}

// MarshalText is the format's name.
func (f Format) MarshalText() ([]byte, error) { return []byte(f), nil }

// NewLogger writes lines of at least level to w. The empty format is FormatAuto.
func NewLogger(w io.Writer, format Format, level slog.Leveler) *slog.Logger {
	if format == FormatAuto || format == "" {
		format = FormatText
		if isTerminal(w) {
			format = FormatColor
		}
	}
	switch format {
	case FormatColor:
		return slog.New(tint.NewTextHandler(w, &tint.Options{
			Level:      level,
			TimeFormat: "15:04:05.000",
			NoColor:    os.Getenv("NO_COLOR") != "",
		}))
	case FormatJSON:
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
	default:
		return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(f.Fd())
}
