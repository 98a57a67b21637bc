package workflow

import (
	"regexp"
	"strings"
)

// Text is a string that may hold references:
//
//	${{ inputs.NAME }}            what the task gave, or the input's default
//	${{ env.NAME }}               a variable of the definition or of the step
//	${{ steps.ID.outputs.NAME }}  what an earlier step left; "" when it left none of that name, failed before, or was skipped
//
// There are no expressions. A value that is put in is not looked at again, so references in values stay as they are.
// $${{ stands for ${{ itself.
type Text string

// The kinds of references, by the word with which they begin.
const (
	ofInputs = "inputs"
	ofEnv    = "env"
	ofSteps  = "steps"
)

// reference names a value.
type reference struct {
	kind string
	step string // of ofSteps
	name string
}

// piece is a part of a text: a reference, or text as it is.
type piece struct {
	text  string
	ref   *reference
	nth   int    // which ${{ of the text it begins with, from 0
	wrong string // what is wrong with the reference, when there is none
}

const (
	opening = "${{"
	closing = "}}"
)

// identifier is what ids and names are made of.
const identifier = `[A-Za-z_][A-Za-z0-9_-]{0,62}`

var (
	ownValue  = regexp.MustCompile(`^(inputs|env)\.(` + identifier + `)$`)
	stepValue = regexp.MustCompile(`^steps\.(` + identifier + `)\.outputs\.(` + identifier + `)$`)
)

// pieces takes t apart.
func (t Text) pieces() []piece {
	var all []piece
	rest := string(t)
	for nth := 0; ; nth++ {
		before, after, found := strings.Cut(rest, opening)
		if !found {
			return append(all, piece{text: rest})
		}
		if escaped, ok := strings.CutSuffix(before, "$"); ok {
			all, rest = append(all, piece{text: escaped + opening}), after
			continue
		}
		all = append(all, piece{text: before})
		inner, onward, closed := strings.Cut(after, closing)
		if !closed {
			return append(all, piece{text: opening + after, nth: nth, wrong: "${{ is not closed by }}; write $${{ if it is meant as it is"})
		}
		ref := referenceIn(strings.Trim(inner, " \t"))
		p := piece{text: opening + inner + closing, ref: ref, nth: nth}
		if ref == nil {
			p.wrong = "between ${{ and }} stands inputs.NAME, env.NAME or steps.ID.outputs.NAME and nothing else; write $${{ if it is meant as it is"
		}
		all, rest = append(all, p), onward
	}
}

func referenceIn(inner string) *reference {
	if m := ownValue.FindStringSubmatch(inner); m != nil {
		return &reference{kind: m[1], name: m[2]}
	}
	if m := stepValue.FindStringSubmatch(inner); m != nil {
		return &reference{kind: ofSteps, step: m[1], name: m[2]}
	}
	return nil
}

// Refers reports whether t holds references.
func (t Text) Refers() bool {
	if !strings.Contains(string(t), opening) {
		return false
	}
	for _, p := range t.pieces() {
		if p.ref != nil {
			return true
		}
	}
	return false
}

// scope is what references stand for at one place of a workflow.
type scope struct {
	inputs, env map[string]string
	steps       map[string]map[string]string
}

func (s scope) value(r reference) string {
	switch r.kind {
	case ofInputs:
		return s.inputs[r.name]
	case ofEnv:
		return s.env[r.name]
	}
	return s.steps[r.step][r.name]
}

// fill is t with the values in their places, as far as they go into limit bytes: of more it returns one byte too many at
// least.
func (s scope) fill(t Text, limit int) string {
	if !strings.Contains(string(t), opening) {
		return string(t)
	}
	var b strings.Builder
	for _, p := range t.pieces() {
		if b.Len() > limit {
			break
		}
		if p.ref != nil {
			b.WriteString(s.value(*p.ref))
		} else {
			b.WriteString(p.text)
		}
	}
	return b.String()
}
