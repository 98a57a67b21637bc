package config_test

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/phonebooth-dev/phonebooth/internal/config"
)

type hidden string

type device struct {
	Name string            `yaml:"name"`
	Tags []string          `yaml:"tags"`
	Env  map[string]string `yaml:"env"`
}

type settings struct {
	Listen   string          `yaml:"listen"`
	LeaseTTL time.Duration   `yaml:"lease_ttl"`
	Waits    []time.Duration `yaml:"waits"`
	Depth    int             `yaml:"depth"`
	Small    int8            `yaml:"small"`
	Ratio    float64         `yaml:"ratio"`
	TLS      bool            `yaml:"tls"`
	Level    slog.Level      `yaml:"level"`
	Token    hidden          `yaml:"token"`
	Devices  []device        `yaml:"devices"`
}

func defaults() settings { return settings{Listen: "127.0.0.1:8420", LeaseTTL: 30 * time.Second} }

func load(t *testing.T, text string) (settings, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "phonebooth.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := defaults()
	err := config.Load(path, &s)
	return s, err
}

func TestLoadFillsInWhatTheFileSays(t *testing.T) {
	t.Parallel()
	got, err := load(t, `# a comment
lease_ttl: 6s
waits: [1s, 1m30s]
depth: 10
ratio: 1.5
tls: true
level: WARN
token: "s3cret"
devices:
  - name: "left: one"
    tags: [a, b]
    env: {ANY_KEY: value}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := settings{
		Listen: "127.0.0.1:8420", LeaseTTL: 6 * time.Second, Waits: []time.Duration{time.Second, 90 * time.Second},
		Depth: 10, Ratio: 1.5, TLS: true, Level: slog.LevelWarn, Token: "s3cret",
		Devices: []device{{Name: "left: one", Tags: []string{"a", "b"}, Env: map[string]string{"ANY_KEY": "value"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestAnEmptyFileLeavesTheDefaults(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n\n", "# nothing\n", "---\n", "---\n# nothing\n...\n"} {
		got, err := load(t, text)
		if diff := cmp.Diff(defaults(), got); diff != "" || err != nil {
			t.Errorf("%q: %v, (-want +got):\n%s", text, err, diff)
		}
	}
}

func TestMistakesAreShownWhereTheyAre(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text   string
		line, column int
		message      string
	}{
		{"unknown key", "listen: a\nlease_tll: 6s\n", 2, 1, `unknown key "lease_tll"; there are depth, devices, lease_ttl, level, listen, `},
		{"unknown key inside", "devices:\n  - name: x\n    tag: y\n", 3, 5, `unknown key "tag"; there are env, name, tags`},
		{"key twice", "depth: 1\ntls: true\ndepth: 2\n", 3, 1, `"depth"`},
		{"text for a number", "depth: many\n", 1, 8, "a whole number"},
		{"text for a fraction", "ratio: half\n", 1, 8, "a number"},
		{"number for a flag", "tls: 7\n", 1, 6, "true or false"},
		{"number for a duration", "\nlease_ttl: 30\n", 2, 12, `a duration like "30s"`},
		{"no duration", "depth: 1\nlease_ttl: soon\n", 2, 12, "invalid duration"},
		{"no duration in a list", "waits:\n  - 1s\n  - soon\n", 3, 5, "invalid duration"},
		{"two of a kind", "lease_ttl: soon\nwaits: [soon]\n", 2, 9, "invalid duration"},
		{"text that its type refuses", "listen: x\nlevel: LOUD\n", 2, 8, "unknown name"},
		{"too large", "small: 300\n", 1, 8, "not so large"},
		{"text for a list", "devices: none\n", 1, 10, "a list"},
		{"list for keys", "- a\n- b\n", 1, 1, "keys and values"},
		{"a lone word", "hello\n", 1, 1, "keys and values"},
		{"broken YAML", "devices: [a\ntls: true\n", 2, 1, "must be specified"},
		{"a tab", "devices:\n\t- name: x\n", 2, 1, ""},
		{"two documents", "depth: 1\n---\ndepth: 2\n", 3, 6, "second document"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, test.text)
			var at *config.Error
			if !errors.As(err, &at) {
				t.Fatalf("error %v, want a *config.Error", err)
			}
			if at.Line != test.line || at.Column != test.column || !strings.Contains(at.Message, test.message) {
				t.Errorf("%v, want %d:%d: ...%s", err, test.line, test.column, test.message)
			}
			if !strings.HasSuffix(at.File, "phonebooth.yaml") || !strings.HasPrefix(err.Error(), at.File+":") {
				t.Errorf("the file is not named: %v", err)
			}
		})
	}
}

func TestAMistakenSecretIsNotRepeated(t *testing.T) {
	t.Parallel()
	_, err := load(t, "token: [s3cret]\n")
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("error %v, want one without the value", err)
	}
}

func TestAMissingFileIsNotAMistakeInIt(t *testing.T) {
	t.Parallel()
	err := config.Load(filepath.Join(t.TempDir(), "none.yaml"), new(settings))
	if at := new(config.Error); !errors.Is(err, fs.ErrNotExist) || errors.As(err, &at) {
		t.Errorf("error %v, want one that wraps fs.ErrNotExist", err)
	}
}
