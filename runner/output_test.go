package runner_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth/runner"
)

// left is a working directory in which a program left a result and a file of outputs; "": none.
func left(t *testing.T, result, outputs string) runner.Place {
	t.Helper()
	place := runner.PlaceAt(t.TempDir())
	for path, text := range map[string]string{place.Result: result, place.Outputs: outputs} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return place
}

func TestOutputsOfTheResultGoBeforeThoseOfTheFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, result, outputs string
		want                  map[string]string
		wrong                 string // what the error says
	}{
		{"nothing", "", "", nil, ""},
		{"lines", "", "a=1\n\n# note\nb=x=y \r\n_c-d=\n", map[string]string{"a": "1", "b": "x=y ", "_c-d": ""}, ""},
		{"a result", `{"outcome":"done","outputs":{"a":"1"}}`, "", map[string]string{"a": "1"}, ""},
		{"both", `{"outcome":"failed","outputs":{"a":"result"}}`, "a=file\nb=2\n", map[string]string{"a": "result", "b": "2"}, ""},
		{"a result that is none", `{"outcome":"done","outputs":{"a":1}}`, "b=2\n", map[string]string{"b": "2"}, ""},
		{"no line", "", "a=1\nsecret\n", nil, "line 2 is not NAME=VALUE"},
		{"a bad name", "", "1a=x\n", nil, "a name must be"},
		{"binary", "", "a=\xff\n", nil, "the value of a must be UTF-8"},
		{"too many", "", lines(65, 1), nil, "64 are the most"},
		{"too long", "", lines(2, 40<<10), nil, "longer than 65536"},
		{"too many together", `{"outcome":"done","outputs":{"x":"1"}}`, lines(64, 1), map[string]string{"x": "1"}, "too many"},
	} {
		got, err := runner.ReadOutputs(left(t, c.result, c.outputs))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.wrong)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error %q holds a value", c.name, err)
		}
	}
}

func lines(n, length int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "n%d=%s\n", i, strings.Repeat("v", length))
	}
	return b.String()
}

func TestAResultSaysWhatIsWrongWithItsOutputs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"outcome":"done","outputs":{"a":1}}`:                   "must be a string",
		`{"outcome":"done","outputs":{"two words":"x"}}`:         "a name must be",
		`{"outcome":"done","outputs":{"a":"` + "\\u0000" + `"}}`: "without NUL",
		`{"outcome":"done","outputs":["a"]}`:                     "must be an object",
	} {
		report, err := runner.ReadResult(left(t, text, "").Result)
		if report != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadResult(%s) = %+v, %v, want a refusal that says %q", text, report, err, want)
		}
	}
}

func TestAResultOfAnotherShapeIsToldWhichOneIsWanted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "result.json")
	for text, want := range map[string]string{`[]`: "it must be an object with outcome", `{"outcome":1}`: "outcome must be a string"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := runner.ReadResult(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadResult(%s): %v, want a refusal that says %q", text, err, want)
		}
	}
}
