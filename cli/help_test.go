package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestEveryVerbExplainsItself(t *testing.T) {
	t.Parallel()
	for _, verb := range verbs(shipped()) {
		path := verb.CommandPath()
		if !strings.HasSuffix(path, "schema") && verb.Long == "" && !verb.HasSubCommands() {
			t.Errorf("%s has no Long", path)
		}
		if verb.Example == "" {
			t.Errorf("%s has no example", path)
		}
		for _, text := range []string{verb.Short, verb.Long} {
			if strings.Contains(text, "\t") || strings.HasSuffix(verb.Short, ".") {
				t.Errorf("%s: a short text ends without a full stop, and no text holds a tab", path)
			}
		}
		verb.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" || strings.HasSuffix(strings.TrimSuffix(f.Usage, "..."), ".") {
				t.Errorf("%s --%s: it says what the flag is, without a full stop", path, f.Name)
			}
		})
	}
}

// An example that the program would not understand is worse than none.
func TestEveryExampleIsUnderstood(t *testing.T) {
	t.Parallel()
	for path, lines := range ShownLines() {
		for _, line := range lines {
			for _, words := range commands(line) {
				if err := understood(words); err != nil {
					t.Errorf("%s shows %q, which is not understood: %v", path, line, err)
				}
			}
		}
	}
}

// Nor is a page of the documentation that shows what is gone.
func TestEveryCommandInTheDocsIsUnderstood(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range append(pages, "../README.md", "../CONTRIBUTING.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range shownIn(string(text)) {
			for _, words := range commands(line) {
				found++
				if err := understood(words); err != nil {
					t.Errorf("%s shows %q, which is not understood: %v", page, line, err)
				}
			}
		}
	}
	if found < 100 {
		t.Errorf("%d commands were found, want all", found)
	}
}

var (
	fence  = regexp.MustCompile("(?ms)^ *```[a-z]+[^\n]*\n(.*?)^ *```$")
	inline = regexp.MustCompile("`(phonebooth [^`]+)`")
	broken = regexp.MustCompile(`\s*\\\n\s*`)                                            // a line that goes on in the next
	folded = regexp.MustCompile(`(?m)^( +)(exec phonebooth submit .*)\n +(--label .*)$`) // a scalar of YAML that does
)

// shownIn are the command lines of a page: those of its blocks, and those in its sentences that are whole.
func shownIn(text string) (lines []string) {
	for _, block := range fence.FindAllStringSubmatch(text, -1) {
		code := folded.ReplaceAllString(broken.ReplaceAllString(block[1], " "), "$2 $3")
		for line := range strings.Lines(code) {
			if at := strings.Index(line, "phonebooth "); at >= 0 && (at == 0 || strings.ContainsRune(" (", rune(line[at-1]))) {
				command := strings.TrimRight(line[at:], "\n")
				if strings.Contains(line[:at], "xargs") {
					command += " TASK"
				}
				lines = append(lines, command)
			}
		}
	}
	for _, span := range inline.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		words := strings.Fields(span[1])
		verb, rest, err := shipped().Find(words[1:])
		if named := err == nil && len(rest) == 0 && verb.HasParent(); !named && !strings.Contains(span[1], "...") {
			lines = append(lines, strings.Join(words, " "))
		}
	}
	return lines
}

// understood says what is wrong with the words of a command, as far as flags and the number of arguments go.
func understood(words []string) error {
	root := shipped()
	root.InitDefaultCompletionCmd()
	verb, rest, err := root.Find(words[1:])
	if err != nil {
		return err
	}
	if verb.HasSubCommands() && len(rest) > 0 {
		return fmt.Errorf("%s has no verb %s", verb.CommandPath(), rest[0])
	}
	if err := verb.ParseFlags(rest); err != nil {
		return err
	}
	return verb.ValidateArgs(verb.Flags().Args())
}

// commands are the words of each call of phonebooth in a line, as a shell divides it as far as examples need.
func commands(line string) (calls [][]string) {
	var words []string
	var word strings.Builder
	var quote rune
	begun := false
	end := func() {
		if begun {
			words, begun = append(words, word.String()), false
			word.Reset()
		}
	}
	finish := func() {
		end()
		if len(words) > 0 && words[0] == "phonebooth" {
			calls = append(calls, words)
		}
		words = nil
	}
	for _, r := range line + "|" {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, begun = r, true
		case r == ' ':
			end()
		case r == '|' || r == '>' || r == '<' || r == ';' || r == '#' || r == '(' || r == ')':
			finish()
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	return calls
}
