package runner_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/runner"
)

func TestTheWorkingDirectoryIsFreshAndClosedToOthers(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	place, err := runner.Prepare(dir, runner.Work{TaskID: "task_1", Goal: "g", Deadline: time.Unix(1700000000, 0)})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{place.Dir: 0o700, place.Artifacts: 0o700, place.Input: 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v (%v), want %v", filepath.Base(path), info.Mode().Perm(), err, want)
		}
	}
	var in runner.Input
	text, err := os.ReadFile(place.Input)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &in); err != nil || in.Goal != "g" || in.TaskID != "task_1" {
		t.Errorf("input = %s (%v), want the work", text, err)
	}
	if _, err := runner.Prepare(dir, runner.Work{}); err == nil {
		t.Error("a directory that exists was taken, want it refused")
	}
}

func TestC41_OfTheHostsEnvironmentOnlyTheListIsPassed(t *testing.T) {
	t.Parallel()
	host := []string{
		"PATH=/bin", "HOME=/root", "LC_ALL=C", "PHONEBOOTH_TOKEN=secret", "AWS_SECRET_ACCESS_KEY=secret", "ANDROID_SERIAL=other",
		"ADB_SERVER_SOCKET=tcp:1", "LD_PRELOAD=x",
	}
	w := runner.Work{TaskID: "task_1", Attempt: 2, Goal: "two\nlines", DeviceID: "device_1", Serial: "s", PortBase: 20020, Deadline: time.Unix(1700000000, 0), With: map[string]string{"app-id": "x y"}}
	place := runner.PlaceAt("/place")
	got := runner.Environ(host, w, place, []string{"MINE=1", "PATH=/mine", "PHONEBOOTH_GOAL=forged"}, []string{"ANDROID_SERIAL=leased"})
	want := []string{
		"ANDROID_SERIAL=leased", "HOME=/root", "LC_ALL=C", "MINE=1", "PATH=/mine",
		"PHONEBOOTH_ARTIFACTS=/place/artifacts", "PHONEBOOTH_ATTEMPT=2", "PHONEBOOTH_DEADLINE=2023-11-14T22:13:20Z",
		"PHONEBOOTH_DEVICE_ID=device_1", "PHONEBOOTH_EVENTS=/place/events.ndjson", "PHONEBOOTH_GOAL=two\nlines",
		"PHONEBOOTH_INPUT=/place/input.json", "PHONEBOOTH_OUTPUTS=/place/outputs", "PHONEBOOTH_PORT_BASE=20020", "PHONEBOOTH_RESULT=/place/result.json",
		"PHONEBOOTH_SERIAL=s", "PHONEBOOTH_TASK_ID=task_1", "PHONEBOOTH_WITH_APP_ID=x y", "PWD=/place",
	}
	if !slices.Equal(got, want) {
		t.Errorf("environment:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestAResultCountsOnlyWhenItIsValid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		outcome    phonebooth.Outcome // "": not valid
		code       string
	}{
		{"done", `{"outcome":"done","result":{"n":1}}`, "done", ""},
		{"failed", `{"outcome":"failed","message":"m"}`, "failed", "runner_failed"},
		{"failed with a code", `{"outcome":"failed","code":"login_needed"}`, "failed", "login_needed"},
		{"again", `{"outcome":"abandoned"}`, "abandoned", "try_again"},
		{"lost", `{"outcome":"abandoned","code":"device_lost"}`, "abandoned", "device_lost"},
		{"an invented give-back", `{"outcome":"abandoned","code":"fenced"}`, "abandoned", "try_again"},
		{"cancelled is not the runner's to say", `{"outcome":"cancelled"}`, "", ""},
		{"empty", ``, "", ""},
		{"half", `{"outcome":"done"`, "", ""},
		{"not an object", `"done"`, "", ""},
		{"a bad code", `{"outcome":"failed","code":"two words"}`, "", ""},
		{"a NUL", `{"outcome":"done","result":"\u0000"}`, "", ""},
		{"too long", `{"outcome":"done","result":"` + strings.Repeat("x", runner.MaxResultBytes) + `"}`, "", ""},
	} {
		path := filepath.Join(t.TempDir(), "result.json")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := runner.ReadResult(path)
		if c.outcome == "" {
			if got != nil || err == nil {
				t.Errorf("%s: %+v, %v, want no result and a reason", c.name, got, err)
			}
			continue
		}
		if err != nil || got == nil || got.Outcome != c.outcome || got.Failure.Code != c.code {
			t.Errorf("%s: %+v, %v, want %s %q", c.name, got, err, c.outcome, c.code)
		}
	}
}

func TestAResultIsARegularFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe, link, real := filepath.Join(dir, "pipe"), filepath.Join(dir, "link"), filepath.Join(dir, "real")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(real, []byte(`{"outcome":"done"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, link, dir} {
		if got, err := runner.ReadResult(path); got != nil || err == nil {
			t.Errorf("%s: %+v, %v, want it refused", filepath.Base(path), got, err)
		}
	}
	if got, err := runner.ReadResult(filepath.Join(dir, "none")); got != nil || err != nil {
		t.Errorf("no result: %+v, %v, want neither", got, err)
	}
}

func TestCleanCutsAtARune(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"plain", 10, "plain"}, {"a\x00b", 10, "a\uFFFDb"}, {"a\xffb", 10, "a\uFFFDb"}, {"ab\u20AC", 4, "ab"}, {"ab\u20AC", 5, "ab\u20AC"},
	} {
		if got := runner.Clean(c.in, c.limit); got != c.want {
			t.Errorf("Clean(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}
