package cli

import (
	"errors"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/pflag"

	"github.com/phonebooth-dev/phonebooth/internal/telemetry"
)

// logSettings say what the log of a long-lived verb looks like.
type logSettings struct {
	Format telemetry.Format `yaml:"log_format"`
	Level  level            `yaml:"log_level"`
}

func defaultLogs() logSettings {
	return logSettings{Format: telemetry.FormatAuto, Level: level(slog.LevelInfo)}
}

func (s *logSettings) bind(f *pflag.FlagSet) {
	f.TextVar(&s.Format, "log-format", s.Format, "auto, color, text or json")
	f.TextVar(&s.Level, "log-level", s.Level, "debug, info, warn or error")
}

func (s logSettings) logger(w io.Writer) *slog.Logger {
	return telemetry.NewLogger(w, s.Format, s.Level)
}

// level is a log level that knows its four names only.
type level slog.Level

// Level is what slog asks for.
func (l level) Level() slog.Level { return slog.Level(l) }

// UnmarshalText reads a name.
func (l *level) UnmarshalText(text []byte) error {
	switch name := strings.ToLower(string(text)); name {
	case "debug", "info", "warn", "error":
		return (*slog.Level)(l).UnmarshalText([]byte(name))
	}
	return errors.New("it is debug, info, warn or error")
}

// MarshalText is the name.
func (l level) MarshalText() ([]byte, error) {
	return []byte(strings.ToLower(slog.Level(l).String())), nil
}
