package simdevice

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Exit codes as a phone's shell gives them.
const (
	codeUsage    = 1
	codeSyntax   = 2
	codeNotFound = 127
	codeHangup   = 129 // the stream was closed: 128 and SIGHUP
)

// shell runs the commands of one stream, in one goroutine.
type shell struct {
	phone          *Phone
	stdin          io.Reader
	stdout, stderr io.Writer
	status         int
	exited         bool
}

// begin runs a command line, or without one every line of the standard input, and returns the exit code.
func (sh *shell) begin(ctx context.Context, line string) int {
	if strings.TrimSpace(line) != "" {
		return sh.line(ctx, line)
	}
	lines := bufio.NewScanner(sh.stdin)
	for !sh.exited && lines.Scan() {
		if strings.TrimSpace(lines.Text()) != "" {
			sh.line(ctx, lines.Text())
		}
	}
	return sh.status
}

func (sh *shell) line(ctx context.Context, line string) int {
	if ctx.Err() != nil {
		sh.exited, sh.status = true, codeHangup
		return sh.status
	}
	if sh.phone.faulty() == hanging {
		sh.phone.record(line)
		<-ctx.Done()
		sh.exited, sh.status = true, codeHangup
		return sh.status
	}
	s, err := parseScript(line)
	if err != nil {
		sh.phone.record(line)
		sh.complain("syntax error: %v", err)
		sh.status = codeSyntax
		return sh.status
	}
	sh.run(ctx, s)
	return sh.status
}

func (sh *shell) run(ctx context.Context, s script) {
	for _, st := range s {
		if sh.exited {
			return
		}
		if st.after == "&&" && sh.status != 0 || st.after == "||" && sh.status == 0 {
			continue
		}
		if ctx.Err() != nil {
			sh.exited, sh.status = true, codeHangup
			return
		}
		sh.command(ctx, st.command)
	}
}

func (sh *shell) command(ctx context.Context, c command) {
	inner := *sh
	for _, r := range c.redirects {
		to := io.Discard
		switch r.to {
		case 1:
			to = inner.stdout
		case 2:
			to = inner.stderr
		}
		if r.from == 1 {
			inner.stdout = to
		} else {
			inner.stderr = to
		}
	}
	if c.isGroup {
		inner.run(ctx, c.group)
		sh.status = inner.status
		return
	}
	words := make([]string, len(c.words))
	for i, w := range c.words {
		words[i] = w.expand(sh.status)
	}
	sh.phone.record(c.source)
	inner.simple(ctx, words)
	sh.status, sh.exited = inner.status, inner.exited
}

func (sh *shell) simple(ctx context.Context, words []string) {
	if words[0] == "exit" {
		sh.exited = true
		if len(words) > 1 {
			n, err := strconv.Atoi(words[1])
			if err != nil {
				n = codeUsage
			}
			sh.status = n & 0xff
		}
		return
	}
	if words[0] == "exec" && len(words) > 1 {
		words = words[1:]
	}
	builtin, ok := builtins[words[0]]
	if !ok {
		sh.complain("%s: inaccessible or not found", words[0])
		sh.status = codeNotFound
		return
	}
	sh.status = builtin(ctx, sh, words[1:])
	if ctx.Err() != nil {
		sh.exited, sh.status = true, codeHangup
	}
}

func (w word) expand(status int) string {
	var b strings.Builder
	for _, p := range w {
		if p.status {
			b.WriteString(strconv.Itoa(status))
		}
		b.WriteString(p.text)
	}
	return b.String()
}

// print writes to the standard output. A stream that is gone has ended ctx, which run looks at.
func (sh *shell) print(format string, a ...any) {
	_, _ = fmt.Fprintf(sh.stdout, format, a...)
}

func (sh *shell) complain(format string, a ...any) {
	_, _ = fmt.Fprintf(sh.stderr, "/system/bin/sh: "+format+"\n", a...)
}
