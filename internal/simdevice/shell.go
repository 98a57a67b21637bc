package simdevice

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Exit codes as a phone's shell gives them.
const (
	codeUsage    = 1
	codeSyntax   = 2
	codeNotFound = 127
	codeHangup   = 129 // the stream was closed: 128 and SIGHUP
	codeKilled   = 137 // 128 and SIGKILL
)

// shell runs the commands of one stream, in one goroutine.
type shell struct {
	phone          *Phone
	pid            int
	background     func(func(context.Context)) // runs what outlives the stream
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
		if st.background {
			sh.detach(st.command)
			continue
		}
		sh.command(ctx, st.command)
	}
}

// detach starts a command that goes on without its stream. Nobody hears what it says, and its shell is its parent no more.
func (sh *shell) detach(c command) {
	sh.background(func(ctx context.Context) {
		ctx, own, exit := sh.phone.fork(ctx, initPID, "sh")
		defer exit()
		away := &shell{
			phone: sh.phone, pid: own, background: sh.background, stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard,
		}
		away.command(ctx, c)
	})
	sh.status = 0
}

func (sh *shell) command(ctx context.Context, c command) {
	inner := *sh
	for _, r := range c.redirects {
		to := io.Discard
		switch {
		case r.file != nil:
			name, content := r.file.expand(sh), &bytes.Buffer{}
			to = content
			defer func() {
				if !sh.phone.write(name, content.Bytes()) {
					sh.complain("%s: No space left on device", name)
					sh.status = 1
				}
			}()
		case r.to == 1:
			to = inner.stdout
		case r.to == 2:
			to = inner.stderr
		}
		switch r.from {
		case 0:
			inner.stdin = strings.NewReader("")
		case 1:
			inner.stdout = to
		default:
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
		words[i] = w.expand(sh)
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
	for slices.Contains([]string{"exec", "nohup", "setsid"}, words[0]) && len(words) > 1 {
		words = words[1:]
	}
	builtin, ok := builtins[words[0]]
	if !ok {
		sh.complain("%s: inaccessible or not found", words[0])
		sh.status = codeNotFound
		return
	}
	own, _, exit := sh.phone.fork(ctx, sh.pid, words[0])
	sh.status = builtin(own, sh, words[1:])
	killed := own.Err() != nil
	exit()
	if killed {
		sh.status = codeKilled
	}
	if ctx.Err() != nil {
		sh.exited, sh.status = true, codeHangup
	}
}

func (w word) expand(sh *shell) string {
	var b strings.Builder
	for _, p := range w {
		if p.status {
			b.WriteString(strconv.Itoa(sh.status))
		}
		if p.self {
			b.WriteString(strconv.Itoa(sh.pid))
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
