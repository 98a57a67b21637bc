package lifecycle

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth"
)

var update = flag.Bool("update", false, "write docs/state-machine.md anew")

// TestStateMachineDoc fails when docs/state-machine.md is not what the table says.
func TestStateMachineDoc(t *testing.T) {
	t.Parallel()
	const path = "../../docs/state-machine.md"
	want := renderTable(Table)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/state-machine.md is stale (run make gen); -want +got:\n%s", diff)
	}
}

const docHead = `<!-- Generated from internal/lifecycle/table.go by make gen. Do not edit. -->

# The state machine of a task

Every change of a task is a verb: a pure function of package internal/lifecycle, decided on locked rows in one transaction.
A test holds the functions against this table in every situation. Rule numbers are those of the specification; C numbers are
cases from the field.

`

const docNotes = `
Report anything stands for the three reports and abandon. An attempt ends exactly when its reservation is released, in the same transaction. Nothing leaves a terminal status.

Refused before anything is looked at: a call about another host's lease (` + "`lease_unknown`" + `), and one by an agent that is not the
newest life of its host (` + "`host_superseded`, `host_identity_conflict`" + `).
`

func renderTable(table []Transition) string {
	var b strings.Builder
	b.WriteString(docHead)
	b.WriteString(renderDiagram(table))
	b.WriteString("\n| verb | about | when | the task becomes | the attempt ends | refused with | rules |\n|---|---|---|---|---|---|---|\n")
	for _, r := range table {
		about := "a new task"
		if r.From.Name != "" {
			article := "a "
			if strings.ContainsRune("aeiou", rune(r.From.Name[0])) {
				article = "an "
			}
			about = article + r.From.Name
		}
		guard := make([]string, len(r.Guard))
		for i, c := range r.Guard {
			guard[i] = string(c)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", r.Verb, about, strings.Join(guard, "; "),
			code(string(r.To)), code(string(r.Ending)), code(r.Refusal), r.Rules)
	}
	b.WriteString(docNotes)
	return b.String()
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

// renderDiagram draws the edges between statuses; verbs of one edge share its line.
func renderDiagram(table []Transition) string {
	type edge struct{ from, to phonebooth.Status }
	verbs := map[edge][]string{}
	for _, r := range table {
		from := r.From.Status
		if from == nil {
			from = []phonebooth.Status{""}
		}
		for _, f := range from {
			e := edge{f, r.To}
			if r.To != "" && !slices.Contains(verbs[e], string(r.Verb)) {
				verbs[e] = append(verbs[e], string(r.Verb))
			}
		}
	}
	order := append([]phonebooth.Status{""}, phonebooth.Statuses()...)
	edges := make([]edge, 0, len(verbs))
	for e := range verbs {
		edges = append(edges, e)
	}
	slices.SortFunc(edges, func(a, b edge) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.from), slices.Index(order, b.from)), cmp.Compare(slices.Index(order, a.to), slices.Index(order, b.to)))
	})
	var b strings.Builder
	b.WriteString("```mermaid\nstateDiagram-v2\n")
	for _, e := range edges {
		fmt.Fprintf(&b, "    %s --> %s: %s\n", cmp.Or(string(e.from), "[*]"), e.to, strings.Join(verbs[e], ", "))
	}
	for _, s := range phonebooth.Statuses() {
		if s.Terminal() {
			fmt.Fprintf(&b, "    %s --> [*]\n", s)
		}
	}
	b.WriteString("```\n")
	return b.String()
}
