package preset_test

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/schematest"
	"github.com/phonebooth-dev/phonebooth/runner"
	"github.com/phonebooth-dev/phonebooth/runner/preset"
)

// corpus is one file of testdata with many presets in it.
func corpus(t testing.TB, name string) []txtar.File {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return archive.Files
}

func TestSchemaAndParserAgree(t *testing.T) {
	t.Parallel()
	schema := schematest.Compile(t, preset.Schema())
	t.Run("on what is right", func(t *testing.T) {
		t.Parallel()
		files := corpus(t, "good.txtar")
		shipped, err := filepath.Glob("shipped/*.yaml")
		if err != nil || len(shipped) == 0 {
			t.Fatal(err, shipped)
		}
		for _, name := range shipped {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, txtar.File{Name: name, Data: text})
		}
		for _, f := range files {
			if _, err := preset.Parse(string(f.Data)); err != nil {
				t.Errorf("%s: the parser says:\n%v", f.Name, err)
			}
			if refused, err := schema.YAML(string(f.Data)); refused != nil || err != nil {
				t.Errorf("%s: the schema refuses it", f.Name)
			}
		}
	})
	for name, schemaSees := range map[string]bool{"bad.txtar": true, "meaning.txtar": false} {
		t.Run("on what is wrong: "+name, func(t *testing.T) {
			t.Parallel()
			for _, f := range corpus(t, name) {
				_, err := preset.Parse(string(f.Data))
				checkMistakes(t, f, err)
				refused, err := schema.YAML(string(f.Data))
				if (refused == nil && err == nil) == schemaSees {
					t.Errorf("%s: the schema accepts it: %v", f.Name, !schemaSees)
				}
			}
		})
	}
}

// checkMistakes compares an error with the comments "# LINE:COLUMN: WORDS" that a text begins with: each is the beginning of a mistake.
func checkMistakes(t *testing.T, f txtar.File, err error) {
	t.Helper()
	var want []string
	for line := range strings.Lines(string(f.Data)) {
		if text, comment := strings.CutPrefix(line, "# "); comment {
			want = append(want, strings.TrimSpace(text))
		}
	}
	said, ok := errors.AsType[preset.Mistakes](err)
	if !ok || len(said) != len(want) {
		t.Errorf("%s: %v, want %d mistakes:\n%s", f.Name, err, len(want), strings.Join(want, "\n"))
		return
	}
	for i, m := range said {
		if !strings.HasPrefix(m.String(), want[i]) {
			t.Errorf("%s: mistake %d is %q, want %q", f.Name, i+1, m, want[i])
		}
	}
}

func TestEveryFieldArrives(t *testing.T) {
	t.Parallel()
	var text string
	for _, f := range corpus(t, "good.txtar") {
		if f.Name == "everything.yaml" {
			text = string(f.Data)
		}
	}
	got, err := preset.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	c, err := got.Runner.Command(runner.Work{
		Goal: "tap {serial}", Serial: "S 1", PortBase: 20020, With: map[string]string{"device": "pixel", "level": "3"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"agent", "--serial=S 1", "--port=20020", "--other=20039", "--device=pixel", "--level=3", "--", "tap {serial}", "${HOME}"}
	if len(c.Argv) < 4 || c.Argv[1] != runner.AttendVerb || c.Argv[3] != "--" {
		t.Fatalf("argv = %q, want the verb that attends the service first", c.Argv)
	}
	if diff := cmp.Diff(want, c.Argv[4:]); diff != "" {
		t.Errorf("argv (-want +got):\n%s", diff)
	}
	if service := `{"argv":["server","--port","20021"],"env":["SIDE=S 1"],"ready":"http://127.0.0.1:20021/status","within":30000000000}`; c.Argv[2] != service {
		t.Errorf("service = %s, want %s", c.Argv[2], service)
	}
	if diff := cmp.Diff([]string{"MODE=pixel of S 1", "URL=http://127.0.0.1:20021"}, c.Env); diff != "" {
		t.Errorf("env (-want +got):\n%s", diff)
	}
	if want := (runner.Ladder{First: 15, Grace: 1500 * time.Millisecond, TermGrace: time.Second}); c.Stop != want {
		t.Errorf("stop = %+v, want %+v", c.Stop, want)
	}
	if r, ok := got.Runner.Parse(runner.End{Exit: runner.Exit{Code: 9}}); !ok || r.Failure.Code != "try_again" {
		t.Errorf("exit code 9 is %+v, want try_again", r)
	}
	if r, ok := got.Runner.Parse(runner.End{Exit: runner.Exit{Code: 10}}); !ok || r.Failure.Code != "credentials" {
		t.Errorf("exit code 10 is %+v, want credentials", r)
	}
	got.Runner = nil
	registration := runner.Registration{
		Name: "everything", Summary: "all fields", Drivers: []string{"android", "ios"}, Fence: "gate", OnlyByName: true, ShellGoal: true,
		Needs: []string{"agent", "sh"}, Secrets: []string{"API_KEY"}, Keep: []string{"report/*.xml"}, Verified: "agent 1.2",
		Limits: runner.Limits{Timeout: 10 * time.Minute, Silence: 90 * time.Second, ArtifactsBytes: 20 << 20},
	}
	if diff := cmp.Diff(registration, got); diff != "" {
		t.Errorf("registration (-want +got):\n%s", diff)
	}
}

func TestWhatIsLeftOutHasItsDefault(t *testing.T) {
	t.Parallel()
	r, err := preset.Parse("version: preset/v1\nname: small\nargv: [run, [\"--mode={with.mode}\"], \"--deep={with.deep}\"]\ninputs: {mode: {}, deep: {default: \"{goal}!\"}}\n")
	if err != nil {
		t.Fatal(err)
	}
	if r.Fence != "process" || r.OnlyByName || r.ShellGoal || len(r.Drivers) > 0 {
		t.Errorf("%+v, want a runner for all devices that can be a default, with the fence process", r)
	}
	c, err := r.Runner.Command(runner.Work{Goal: "g"})
	if diff := cmp.Diff([]string{"run", "--deep=g!"}, c.Argv); diff != "" || err != nil {
		t.Errorf("%v, argv (-want +got):\n%s", err, diff)
	}
}

func TestInputsAreCheckedBeforeAnythingRuns(t *testing.T) {
	t.Parallel()
	all, err := preset.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	var g runner.Registry
	for _, r := range all {
		if err := g.Register(r); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		work runner.Work
		want string // in the refusal; "": none
	}{
		{"instrumentation", runner.Work{Goal: "org.example.test/.Runner"}, ""},
		{"instrumentation", runner.Work{With: map[string]string{"component": "org.example.test/.Runner", "class": "a.B#c,a.D"}}, ""},
		{"instrumentation", runner.Work{Goal: "org.example/.Runner; reboot"}, "the input component, which is the goal"},
		{"instrumentation", runner.Work{Goal: "a.b/.R", With: map[string]string{"class": "x'; reboot; '"}}, "the input class must match"},
		{"instrumentation", runner.Work{Goal: "a.b/.R", With: map[string]string{"klass": "x"}}, "with may hold class, component, package, size"},
		{"screenshot", runner.Work{Goal: "x", With: map[string]string{"name": "../../x"}}, "the input name must match"},
		{"shell", runner.Work{Goal: "x", With: map[string]string{"name": "x"}}, "takes no inputs"},
		{"maestro", runner.Work{Goal: "flows/login.yaml"}, "must match /.*"},
		{"mobilerun", runner.Work{Goal: "x", With: map[string]string{"steps": "many"}}, "must match"},
	} {
		r, _ := g.Lookup(c.name)
		_, err := r.Runner.Command(c.work)
		if c.want == "" && err != nil || c.want != "" && (phonebooth.CodeOf(err) != "invalid_task" || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %+v: %v, want invalid_task with %q", c.name, c.work, err, c.want)
		}
	}
}

func TestAnInputIsNeverAnOption(t *testing.T) {
	t.Parallel()
	r, err := preset.Parse("version: preset/v1\nname: small\nargv: [run, \"{with.file}\", --, \"{with.file}\"]\ninputs: {file: {required: true}}\n")
	if err != nil {
		t.Fatal(err)
	}
	for value, ok := range map[string]bool{"a.txt": true, "-rf": false, "": false} {
		_, err := r.Runner.Command(runner.Work{With: map[string]string{"file": value}})
		if ok != (err == nil) || !ok && phonebooth.CodeOf(err) != "invalid_task" {
			t.Errorf("file %q: %v, want it taken: %v", value, err, ok)
		}
	}
}

func FuzzPreset(f *testing.F) {
	for _, name := range []string{"good.txtar", "bad.txtar", "meaning.txtar"} {
		for _, file := range corpus(f, name) {
			f.Add(string(file.Data))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := preset.Parse(text)
		if err != nil {
			said, ok := errors.AsType[preset.Mistakes](err)
			if !ok || len(said) == 0 {
				t.Fatalf("the error is %v, want mistakes", err)
			}
			for _, m := range said {
				if m.Line < 1 || m.Line > strings.Count(text, "\n")+2 || m.Column < 1 || m.Message == "" {
					t.Errorf("mistake %+v of %q is nowhere in it", m, text)
				}
			}
			return
		}
		var g runner.Registry
		if err := g.Register(r); err != nil {
			t.Errorf("a preset that was read cannot be registered: %v\n%q", err, text)
		}
		if _, err := r.Runner.Command(runner.Work{Goal: "g", Serial: "s", PortBase: runner.FirstPort}); err != nil && phonebooth.CodeOf(err) != "invalid_task" {
			t.Errorf("Command: %v", fmt.Errorf("%w\n%q", err, text))
		}
	})
}
