package workflow_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/schematest"
	"github.com/phonebooth-dev/phonebooth/workflow"
)

const head = "version: steps/v1\nname: w\n"

const good = `# how to do it
version: steps/v1
name: dark-mode
steps:
  - open Settings
  - "turn on: dark mode"
  - |
    look at it
    again
`

func TestParse(t *testing.T) {
	t.Parallel()
	want := workflow.Definition{Name: "dark-mode", Steps: []workflow.Step{
		{Goal: "open Settings"}, {Goal: "turn on: dark mode"}, {Goal: "look at it\nagain\n"},
	}}
	for name, source := range map[string]string{
		"block": good,
		"flow":  `{version: steps/v1, name: dark-mode, steps: [open Settings, "turn on: dark mode", "look at it\nagain\n"]}`,
		"crlf":  strings.ReplaceAll(`{version: steps/v1, name: dark-mode,`+"\n"+`steps: [open Settings, "turn on: dark mode", "look at it\nagain\n"]}`, "\n", "\r\n"),
	} {
		got, err := workflow.Parse(source)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, difference (-want +got):\n%s", name, err, diff)
		}
	}
}

const whole = `version: steps/v1
name: whole
inputs:
  room: {description: "where, as in ${{ }}", required: true}
  level: {default: 3}
  note:
env:
  ROOM: ${{ inputs.room }}
  SIGN: $${{ x }}
steps:
  - id: find
    name: Find the room
    goal: find ${{ env.ROOM }} at ${{inputs.level}}
    continue-on-error: true
    timeout-minutes: 1.5
    retry: 2
  - uses: adb-shell
    with: {goal: getprop, fast: yes, strict: true, Level: 0x10, ratio: 1.50}
    if: always
    env: {WHERE: "${{ steps.find.outputs.place }} ${{ env.ROOM }}"}
  - id: last
    run: |
      echo "$WHERE"
    if: failure
    env:
      WHERE: ${{ steps.step-2.outputs.at_last }}
`

func TestEveryFieldIsRead(t *testing.T) {
	t.Parallel()
	want := workflow.Definition{
		Name: "whole",
		Inputs: map[string]workflow.Input{
			"room": {Description: "where, as in ${{ }}", Required: true}, "level": {Default: "3"}, "note": {},
		},
		Env: map[string]workflow.Text{"ROOM": "${{ inputs.room }}", "SIGN": "$${{ x }}"},
		Steps: []workflow.Step{
			{
				ID: "find", Name: "Find the room", Goal: "find ${{ env.ROOM }} at ${{inputs.level}}",
				ContinueOnError: true, Timeout: 90 * time.Second, Retry: 2,
			},
			{
				Uses: "adb-shell", With: map[string]workflow.Text{"goal": "getprop", "fast": "yes", "strict": "true", "Level": "0x10", "ratio": "1.50"},
				If: workflow.Always, Env: map[string]workflow.Text{"WHERE": "${{ steps.find.outputs.place }} ${{ env.ROOM }}"},
			},
			{
				ID: "last", Run: "echo \"$WHERE\"\n", If: workflow.Failure,
				Env: map[string]workflow.Text{"WHERE": "${{ steps.step-2.outputs.at_last }}"},
			},
		},
	}
	got, err := workflow.Parse(whole)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, difference (-want +got):\n%s", err, diff)
	}
}

// mistakes are definitions that are wrong; those of shape are wrong to the schema as well.
var mistakes = []struct {
	name, source, want string
	shape              bool
}{
	{"empty", "", "line 1, column 1: the workflow is empty", false},
	{"comment only", "# nothing\n", "the workflow is empty", false},
	{"a list", "- a\n", "line 1, column 1: the workflow must be fields", true},
	{"unknown field", head + "steps: [a]\nstep: b\n", "line 4, column 1: unknown field; there are version, name, inputs, env and steps", true},
	{"field twice", head + "name: again\nsteps: [a]\n", "line 3, column 1: this field is there twice", false},
	{"other version", "version: steps/v9\nname: w\nsteps: [a]\n", "line 1, column 10: version must be steps/v1", true},
	{"version as a number", "version: 1\nname: w\nsteps: [a]\n", "line 1, column 10: version must be a string", true},
	{"bad name", "version: steps/v1\nname: two words\nsteps: [a]\n", "line 2, column 7: name must be", true},
	{"no name", "version: steps/v1\nsteps: [a]\n", "name is missing", true},
	{"no steps", head, "steps is missing", true},
	{"steps as a string", head + "steps: a\n", "line 3, column 8: steps must be a list", true},
	{"no step", head + "steps: []\n", "line 3, column 8: steps must be a list", true},
	{"a number", head + "steps:\n  - open\n  - 7\n", "line 5, column 5: a step must be a string", true},
	{"an empty step", head + "steps:\n  - open\n  - ''\n", "line 5, column 5: the step's goal is empty", true},
	{"null", head + "steps:\n  -\n", "a step must be a string", true},
	{"an anchor", head + "steps:\n  - &a open\n  - *a\n", "line 4, column 5: anchors, aliases and tags", false},
	{"a tag", head + "steps:\n  - !!str open\n", "line 4, column 5: anchors, aliases and tags", false},
	{"a merge", head + "steps:\n  - <<: {goal: a}\n", "line 4, column 5: anchors, aliases and tags", false},
	{"an explicit key", head + "? steps\n: [a]\n", "line 3, column 1: directives and keys", false},
	{"a directive", "%YAML 1.2\n---\n" + head + "steps: [a]\n", "line 1, column 1: directives", false},
	{"brackets", head + "steps: " + strings.Repeat("[", 100<<10), "nested too deep", false},
	{"braces", head + "steps: " + strings.Repeat("{a: ", 100<<10), "nested too deep", false},
	{"hyphens", head + "steps:\n" + strings.Repeat("- ", 100<<10), "nested too deep", false},
	{"question marks", strings.Repeat("? ", 100<<10), "directives", false},
	{"anchors", strings.Repeat("&a ", 100<<10), "anchors", false},
	{"fields", strings.Repeat("a:\n", 100<<10), "line 129, column 2: there are more than 128 fields", false},
	{"a million laughs", head + "a: &a [x,x]\nb: &b [*a,*a]\nsteps: *b\n", "line 3, column 4: anchors", false},
	{"two documents", head + "steps: [a]\n---\n" + head + "steps: [a]\n", "there is a second document", false},
	{"a tab", head + "steps:\n\t- a\n", "line 4", false},
	{"an open quote", head + "steps: [\"a]\n", "this is not YAML", false},
	{"a NUL", head + "steps: [a\x00]\n", "line 3, column 10: the text holds a NUL byte", false},
	{"a NUL by escape", head + "steps: [\"a\\0\"]\n", "line 3, column 9: the step's goal holds a NUL", false},
	{"bad UTF-8", head + "steps: [\uFFFD\xff]\n", "line 3, column 10: the text is not valid UTF-8", false},
	{"too many steps", head + "steps: [" + strings.Repeat("a,", 101) + "]\n", "more than 100 steps", true},
	{"too long", head + "#" + strings.Repeat("x", workflow.MaxSourceBytes), "longer than", false},
	{"a long goal", head + "steps: [" + strings.Repeat("x", phonebooth.MaxGoalBytes+1) + "]\n", "line 3, column 9: the step's goal is longer", false},

	{"an empty mapping", head + "steps: [{}]\n", "line 3, column 9: a step has exactly one of goal, uses and run", true},
	{"a goal and a script", head + "steps:\n  - goal: a\n    run: b\n", "line 4, column 5: a step has exactly one of", true},
	{"an unknown key of a step", head + "steps:\n  - goal: a\n    shell: bash\n", "line 5, column 5: unknown field; there are id, name, goal, uses, with, run, env, if, continue-on-error, timeout-minutes and retry", true},
	{"a key of a step twice", head + "steps:\n  - goal: a\n    goal: b\n", "line 5, column 5: this field is there twice", false},
	{"with without uses", head + "steps: [{run: a, with: {b: c}}]\n", "with belongs to uses", true},
	{"a bad id", head + "steps: [{id: 1st, goal: a}]\n", "line 3, column 14: id must be", true},
	{"a long id", head + "steps: [{id: " + strings.Repeat("a", 64) + ", goal: a}]\n", "id must be", true},
	{"an id twice", head + "steps:\n  - {id: a, goal: a}\n  - {id: a, goal: b}\n", "line 5, column 5: step 1 has the id of this step", false},
	{"a default id taken", head + "steps:\n  - {id: step-2, goal: a}\n  - b\n", "line 5, column 5: step 1 has the id of this step", false},
	{"uses with a path", head + "steps: [{uses: a/b@v1}]\n", "line 3, column 16: uses must be the name of a runner", true},
	{"uses as a list", head + "steps: [{uses: [a]}]\n", "uses must be a string", true},
	{"with as a list", head + "steps: [{uses: a, with: [b]}]\n", "with must be fields", true},
	{"a list in with", head + "steps: [{uses: a, with: {b: [c]}}]\n", "line 3, column 29: a value of with must be a string", true},
	{"null in with", head + "steps: [{uses: a, with: {b: }}]\n", "a value of with must be a string; write ''", true},
	{"one variable twice", head + "steps: [{uses: a, with: {b-c: d, B_c: e}}]\n", "are one variable", false},
	{"an empty script", head + "steps: [{run: ' '}]\n", "the script is empty", true},
	{"a number as a script", head + "steps: [{run: 1}]\n", "run must be a string", true},
	{"a condition with brackets", head + "steps: [{run: a, if: always()}]\n", "if must be success, failure or always", true},
	{"continue as a string", head + "steps: [{run: a, continue-on-error: 'true'}]\n", "continue-on-error must be true or false", true},
	{"no time", head + "steps: [{run: a, timeout-minutes: 0}]\n", "line 3, column 35: timeout-minutes must be a number from 0.001 to 1440", true},
	{"too much time", head + "steps: [{run: a, timeout-minutes: 1441}]\n", "timeout-minutes must be", true},
	{"endless time", head + "steps: [{run: a, timeout-minutes: .inf}]\n", "timeout-minutes must be", false},
	{"time as a string", head + "steps: [{run: a, timeout-minutes: '5'}]\n", "timeout-minutes must be", true},
	{"too many tries", head + "steps: [{run: a, retry: 11}]\n", "retry must be a whole number from 0 to 10", true},
	{"negative tries", head + "steps: [{run: a, retry: -1}]\n", "retry must be", true},
	{"half a try", head + "steps: [{run: a, retry: 1.5}]\n", "retry must be", true},
	{"an empty name", head + "steps: [{run: a, name: ''}]\n", "a step's name must be", true},
	{"a value in a name", head + "inputs: {b: }\nsteps: [{run: a, name: \"go ${{ inputs.b }}\"}]\n", "line 4, column 28: no values are put in here", true},
	{"a bad variable", head + "env: {A-B: c}\nsteps: [a]\n", "line 3, column 7: a variable's name must be", true},
	{"a reserved variable", head + "steps: [{run: a, env: {PHONEBOOTH_GOAL: b}}]\n", "line 3, column 24: names that begin with PHONEBOOTH_", true},
	{"a list as a variable", head + "env: {A: [b]}\nsteps: [a]\n", "line 3, column 10: a variable must be a string", true},
	{"too many variables", head + "env:\n" + strings.Repeat("  A: b\n", 65) + "steps: [a]\n", "line 68, column 3: env has more than 64 fields", false},
	{"a bad input", head + "inputs: {'two words': }\nsteps: [a]\n", "line 3, column 10: a name in inputs must be", true},
	{"an input as a string", head + "inputs: {a: b}\nsteps: [a]\n", "line 3, column 13: an input must be fields", true},
	{"an unknown key of an input", head + "inputs: {a: {type: string}}\nsteps: [a]\n", "line 3, column 14: unknown field; there are description, required and default", true},
	{"required as a string", head + "inputs: {a: {required: 'no'}}\nsteps: [a]\n", "required must be true or false", true},
	{"required with a default", head + "inputs: {a: {required: true, default: b}}\nsteps: [a]\n", "line 3, column 13: an input that is required has no default", true},
	{"a value in a default", head + "inputs: {a: {default: '${{ env.B }}'}}\nsteps: [a]\n", "line 3, column 24: no values are put in here", true},

	{"a value in a script", head + "inputs: {b: }\nsteps:\n  - run: |\n      true\n      echo ${{ inputs.b }}\n", "line 7, column 12: no values are put in here; a shell would take them", true},
	{"an escape in a script", head + "steps:\n  - run: echo $${{ a }}\n", "line 4, column 16: no values", true},
	{"an unknown input", head + "inputs: {b: , a: }\nsteps: ['open ${{ inputs.c }}']\n", "line 4, column 15: there is no input of that name; the workflow has: a, b", false},
	{"an input of none", head + "steps: ['${{ inputs.c }}']\n", "the workflow has: none", false},
	{"an unknown variable", head + "steps: ['${{ env.PATH }}']\n", "line 3, column 10: there is no such variable here", false},
	{"another step's variable", head + "steps: [{goal: a, env: {B: c}}, '${{ env.B }}']\n", "line 3, column 34: there is no such variable here", false},
	{"a step's variable in its env", head + "steps: [{goal: a, env: {B: c, D: '${{ env.B }}'}}]\n", "line 3, column 35: there is no such variable here", false},
	{"a variable in the workflow's env", head + "env: {A: b, C: '${{ env.A }}'}\nsteps: [a]\n", "line 3, column 17: the workflow's env may refer to inputs only", false},
	{"an output in the workflow's env", head + "env: {C: '${{ steps.a.outputs.b }}'}\nsteps: [{id: a, goal: b}]\n", "the workflow's env may refer to inputs only", false},
	{"an unknown step", head + "steps: [a, 'x ${{ steps.b.outputs.c }}']\n", "line 3, column 15: there is no earlier step of that id; before this one there are: step-1", false},
	{"a later step", head + "steps: ['${{ steps.b.outputs.c }}', {id: b, goal: d}]\n", "line 3, column 10: there is no earlier step of that id", false},
	{"the step itself", head + "steps: [{id: b, goal: '${{ steps.b.outputs.c }}'}]\n", "line 3, column 24: there is no earlier step of that id", false},
	{"an expression", head + "steps: [\"${{ inputs.a == 'b' }}\"]\n", "line 3, column 10: between ${{ and }} stands", false},
	{"an open reference", head + "steps: ['${{ inputs.a }']\n", "line 3, column 10: ${{ is not closed by }}", false},
	{"the second reference of a long goal", head + "inputs: {a: }\nsteps:\n  - |\n    é ${{ inputs.a }}\n    é ${{ inputs.b }}\n", "line 7, column 7: there is no input of that name", false},
}

func TestS1_4_AMistakeIsShownWhereItIs(t *testing.T) {
	t.Parallel()
	for _, c := range mistakes {
		_, err := workflow.Parse(c.source)
		if phonebooth.CodeOf(err) != "invalid" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want invalid: %s", c.name, err, c.want)
		}
	}
	_, err := workflow.Parse(head + "steps: [secret-\x00]\n")
	if problem := err.(*phonebooth.Error); problem.Detail["line"] != "3" || problem.Detail["column"] == "" || strings.Contains(problem.Message, "secret") {
		t.Errorf("the mistake is %v, want line and column as details and no echo", err)
	}
}

func TestCheckFindsAllMistakesInTheOrderOfTheText(t *testing.T) {
	t.Parallel()
	_, problems := workflow.Check("version: 1\nname: a b\nsteps:\n  - {run: a, if: never, retry: many}\n  - ${{ inputs.x }}\n  - goal:\nsteps: []\nmore: 1\n")
	var got []string
	for _, p := range problems {
		got = append(got, p.Detail["line"]+":"+p.Detail["column"])
	}
	if want := []string{"1:10", "2:7", "4:18", "4:32", "5:5", "6:10", "7:1", "8:1"}; !slices.Equal(got, want) {
		t.Errorf("problems at %v, want %v: %v", got, want, problems)
	}
	_, problems = workflow.Check(head + "steps: [a]\n" + "env: {A: {" + strings.Repeat("x: y,", 1000) + "}}\n")
	if len(problems) != 1 {
		t.Errorf("%d problems, want 100 at most", len(problems))
	}
}

// judged is what the schema says of a definition.
func judged(t *testing.T, schema schematest.Schema, source string) error {
	t.Helper()
	refused, err := schema.YAML(source)
	if err != nil {
		t.Fatalf("%.100q: %v", source, err)
	}
	return refused
}

func TestTheSchemaAndTheParserAgree(t *testing.T) {
	t.Parallel()
	schema := schematest.Compile(t, workflow.Schema())
	sources := map[string]string{"good": good, "whole": whole}
	for name, source := range examples(t) {
		sources[name] = source
	}
	for name, source := range sources {
		if _, problems := workflow.Check(source); len(problems) > 0 {
			t.Errorf("%s: the parser refuses it: %v", name, problems)
		}
		if err := judged(t, schema, source); err != nil {
			t.Errorf("%s: the schema refuses it: %v", name, err)
		}
	}
	for _, c := range mistakes {
		if c.shape && judged(t, schema, c.source) == nil {
			t.Errorf("%s: the schema allows it, want it refused as the parser does", c.name)
		}
	}
}

// examples are the workflows that are shipped as such.
func examples(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../examples/workflows/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no example: %v", err)
	}
	sources := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sources[filepath.Base(file)] = string(text)
	}
	return sources
}

func FuzzParse(f *testing.F) {
	for _, source := range []string{good, whole, "{version: steps/v1, name: a, steps: [&a b, *a]}", "steps: !!binary |\n  aGk=\n", head + "steps:\n - ${{ a }}\n - $${{"} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		d, problems := workflow.Check(source)
		if len(problems) == 0 && (d.Name == "" || len(d.Steps) == 0) {
			t.Errorf("Check(%q) = %+v, want a name and steps", source, d)
		}
		for _, p := range problems {
			if p.Code != "invalid" || p.Message == "" {
				t.Errorf("Check(%q) finds %v, want invalid and why", source, p)
			}
		}
	})
}
