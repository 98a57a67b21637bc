package simdevice

import (
	"fmt"
	"strings"
	"unicode"
)

// script is a sequence of commands. Its grammar is the small part of a shell's that tasks and
// hosts use; what it does not know is a syntax error, never something else than was meant.
type script []step

// step is a command and on what it depends: "" always, "&&" and "||" as in any shell. The shell does not wait for one in the
// background.
type step struct {
	after      string
	background bool
	command
}

// command is either a group in parentheses or words.
type command struct {
	source    string
	group     script
	isGroup   bool
	words     []word
	redirects []redirect
}

// word is text with places for $? and $$.
type word []part

type part struct {
	text   string
	status bool
	self   bool // the shell's process id
}

// redirect sends output from one descriptor (1 or 2) to another, to nowhere (0), or to a file. From 0 it is an input that is
// empty.
type redirect struct {
	from, to int
	file     word // nil: none
}

type parser struct {
	text string
	at   int
}

func parseScript(text string) (script, error) {
	p := &parser{text: text}
	s, err := p.script()
	if err != nil {
		return nil, err
	}
	if p.at < len(p.text) {
		return nil, fmt.Errorf("unexpected %q", p.text[p.at:p.at+1])
	}
	return s, nil
}

// script reads up to the end of the text or a closing parenthesis.
func (p *parser) script() (script, error) {
	var steps script
	after := ""
	for {
		p.skipBlank(after != "" || len(steps) == 0)
		if p.done() || p.peek(")") {
			if after == "&&" || after == "||" {
				return nil, fmt.Errorf("nothing follows %q", after)
			}
			return steps, nil
		}
		c, err := p.command()
		if err != nil {
			return nil, err
		}
		steps = append(steps, step{after: strings.Trim(after, ";"), command: c})
		p.skipBlank(false)
		switch {
		case p.take("&&"):
			after = "&&"
		case p.take("&"):
			steps[len(steps)-1].background, after = true, ";"
		case p.take("||"):
			after = "||"
		case p.take(";"), p.take("\n"):
			after = ";"
		case p.done(), p.peek(")"):
			return steps, nil
		default:
			return nil, fmt.Errorf("unsupported %q", p.text[p.at:p.at+1])
		}
	}
}

func (p *parser) command() (command, error) {
	start := p.at
	var c command
	if p.take("(") {
		group, err := p.script()
		if err != nil {
			return c, err
		}
		if !p.take(")") {
			return c, fmt.Errorf("a %q is not closed", "(")
		}
		c.group, c.isGroup = group, true
	}
	for {
		p.skipBlank(false)
		if r, ok, err := p.redirect(); err != nil {
			return c, err
		} else if ok {
			c.redirects = append(c.redirects, r)
			continue
		}
		if p.done() || strings.ContainsRune(";&|()<>\n", rune(p.text[p.at])) {
			break
		}
		if c.isGroup {
			return c, fmt.Errorf("words after %q", ")")
		}
		w, err := p.word()
		if err != nil {
			return c, err
		}
		c.words = append(c.words, w)
	}
	c.source = strings.TrimSpace(p.text[start:p.at])
	if !c.isGroup && len(c.words) == 0 {
		if p.done() {
			return c, fmt.Errorf("a command is missing")
		}
		return c, fmt.Errorf("unexpected %q", p.text[p.at:p.at+1])
	}
	return c, nil
}

func (p *parser) redirect() (redirect, bool, error) {
	r := redirect{from: 1}
	switch {
	case p.take("2>"):
		r.from = 2
	case p.take("1>"), p.take(">"):
	case p.take("<"):
		r.from = 0
	default:
		return r, false, nil
	}
	p.skipBlank(false)
	switch {
	case p.take("/dev/null"):
	case r.from == 0:
		return r, false, fmt.Errorf("unsupported redirection")
	case p.take("&1"):
		r.to = 1
	case p.take("&2"):
		r.to = 2
	case p.peek("/"):
		file, err := p.word()
		if err != nil {
			return r, false, err
		}
		r.file = file
	default:
		return r, false, fmt.Errorf("unsupported redirection")
	}
	return r, true, nil
}

func (p *parser) word() (word, error) {
	var w word
	for !p.done() {
		switch c := p.text[p.at]; {
		case strings.IndexByte(" \t\n;&|()<>", c) >= 0:
			return w, nil
		case c == '\'':
			end := strings.IndexByte(p.text[p.at+1:], '\'')
			if end < 0 {
				return nil, fmt.Errorf("a quote is not closed")
			}
			w = append(w, part{text: p.text[p.at+1 : p.at+1+end]})
			p.at += end + 2
		case c == '"':
			p.at++
			inner, err := p.quoted()
			if err != nil {
				return nil, err
			}
			w = append(w, inner...)
		default:
			w = append(w, p.character(" \t\n;&|()<>'\"$`\\"))
		}
	}
	return w, nil
}

// quoted reads up to the closing double quote.
func (p *parser) quoted() (word, error) {
	w := word{part{}}
	for !p.done() {
		if p.take("\"") {
			return w, nil
		}
		w = append(w, p.character("\"$`\\"))
	}
	return nil, fmt.Errorf("a quote is not closed")
}

// character reads $?, $$, an escaped character, or the longest run without one of stop. A lone dollar or backquote
// stands for itself.
func (p *parser) character(stop string) part {
	if p.take("$?") {
		return part{status: true}
	}
	if p.take("$$") {
		return part{self: true}
	}
	if p.take("\\") && !p.done() {
		p.at++
		return part{text: p.text[p.at-1 : p.at]}
	}
	n := strings.IndexAny(p.text[p.at:], stop)
	switch {
	case n < 0:
		n = len(p.text) - p.at
	case n == 0:
		n = 1
	}
	p.at += n
	return part{text: p.text[p.at-n : p.at]}
}

func (p *parser) skipBlank(lines bool) {
	for !p.done() {
		c := rune(p.text[p.at])
		if c == '\n' && !lines || !unicode.IsSpace(c) || c > unicode.MaxASCII {
			return
		}
		p.at++
	}
}

func (p *parser) done() bool { return p.at >= len(p.text) }

func (p *parser) peek(s string) bool { return strings.HasPrefix(p.text[p.at:], s) }

func (p *parser) take(s string) bool {
	if !p.peek(s) {
		return false
	}
	p.at += len(s)
	return true
}
