package simdevice

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
)

type ran struct {
	out, err string
	code     int
}

func runLine(ctx context.Context, p *Phone, line, stdin string) ran {
	var out, err bytes.Buffer
	sh := &shell{phone: p, stdin: strings.NewReader(stdin), stdout: &out, stderr: &err}
	code := sh.begin(ctx, line)
	return ran{out.String(), err.String(), code}
}

func TestTheShellRunsWhatHostsAndTasksWrite(t *testing.T) {
	t.Parallel()
	const sh = "/system/bin/sh: "
	for _, c := range []struct {
		line, stdin string
		want        ran
	}{
		{"true", "", ran{}},
		{"false", "", ran{code: 1}},
		{"exit 7", "", ran{code: 7}},
		{"exit 300", "", ran{code: 44}},
		{"false; exit", "", ran{code: 1}},
		{"echo a  b; echo c", "", ran{out: "a b\nc\n"}},
		{"echo a\necho b\n", "", ran{out: "a\nb\n"}},
		{"echo -n a; echo $?", "", ran{out: "a0\n"}},
		{"false && echo no", "", ran{code: 1}},
		{"false || echo yes", "", ran{out: "yes\n"}},
		{"true && echo a && false || echo b; echo $?", "", ran{out: "a\nb\n0\n"}},
		{"echo oops >&2", "", ran{err: "oops\n"}},
		{"echo oops 1>&2; echo out", "", ran{out: "out\n", err: "oops\n"}},
		{"nonsense 2>/dev/null", "", ran{code: 127}},
		{"nonsense 2>&1", "", ran{out: sh + "nonsense: inaccessible or not found\n", code: 127}},
		{"echo quiet > /dev/null", "", ran{}},
		{"(exit 3); echo x$?", "", ran{out: "x3\n"}},
		{"(echo a; exit 4\n) >&2", "", ran{err: "a\n", code: 4}},
		{`echo 'a  b' "c;d" e\ f "g\"h" "$?" '$?'`, "", ran{out: "a  b c;d e f g\"h 0 $?\n"}},
		{`echo "" x$y ''`, "", ran{out: " x$y \n"}},
		{"cat", "one\ntwo", ran{out: "one\ntwo"}},
		{"cat /dev/null", "", ran{}},
		{"cat /etc/x", "", ran{err: sh + "cat: /etc/x: No such file or directory\n", code: 1}},
		{"", "echo a\n\nexit 5\necho b\n", ran{out: "a\n", code: 5}},
		{"getprop ro.product.model; getprop nothing; getprop nothing default", "", ran{out: "Pixel 9\n\ndefault\n"}},
		{"setprop debug.x 1 && getprop debug.x", "", ran{out: "1\n"}},
		{"settings put system a 'b c' && settings get system a", "", ran{out: "b c\n"}},
		{"settings get global a", "", ran{out: "null\n"}},
		{"settings put system d 1; settings delete system d; settings get system d", "", ran{out: "null\n"}},
		{"input tap 1 2 && am start x && pm list packages && wm size", "", ran{}},
		{"sleep 0 && sleep 0.001", "", ran{}},
		{"echo a > /sdcard/x; cat /sdcard/x", "", ran{out: "a\n"}},
		{"cat </dev/null", "not this", ran{}},
		{"ime enable a/.B >/dev/null; ime set a/.B; settings get secure default_input_method", "", ran{out: "Input method a/.B selected for user #0\na/.B\n"}},
		{"echo a | cat", "", ran{err: sh + "syntax error: unsupported \"|\"\n", code: 2}},
		{"echo 'a", "", ran{err: sh + "syntax error: a quote is not closed\n", code: 2}},
		{"echo a > sdcard/x", "", ran{err: sh + "syntax error: unsupported redirection\n", code: 2}},
		{"true &&", "", ran{err: sh + "syntax error: nothing follows \"&&\"\n", code: 2}},
		{"(true", "", ran{err: sh + "syntax error: a \"(\" is not closed\n", code: 2}},
		{"true)", "", ran{err: sh + "syntax error: unexpected \")\"\n", code: 2}},
		{";", "", ran{err: sh + "syntax error: unexpected \";\"\n", code: 2}},
	} {
		t.Run(c.line, func(t *testing.T) {
			t.Parallel()
			got := runLine(t.Context(), New(Options{Model: "Pixel 9"}), c.line, c.stdin)
			if got != c.want {
				t.Errorf("%q = %+v, want %+v", c.line, got, c.want)
			}
		})
	}
}

func TestCommandsAreKeptAsTheyBegin(t *testing.T) {
	t.Parallel()
	var now time.Duration
	p := New(Options{Now: func() time.Duration { now += time.Second; return now }})
	runLine(t.Context(), p, "false && input tap 1 1; (input tap 2 2  >&2) ; echo 'a;b'", "")
	want := []Command{{time.Second, "false"}, {2 * time.Second, "input tap 2 2  >&2"}, {3 * time.Second, "echo 'a;b'"}}
	got := p.Commands()
	if len(got) != len(want) {
		t.Fatalf("Commands() = %+v, want %+v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("command %d = %+v, want %+v", i, got[i], want[i])
		}
	}
}

func TestNothingRunsAfterTheStreamIsClosed(t *testing.T) {
	t.Parallel()
	p := New(Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := runLine(ctx, p, "input tap 1 1; input tap 2 2", ""); got.code != codeHangup {
		t.Errorf("exit code %d, want %d", got.code, codeHangup)
	}
	if got := p.Commands(); len(got) > 0 {
		t.Errorf("Commands() = %+v, want none", got)
	}
}

func FuzzScript(f *testing.F) {
	for _, line := range []string{"a && (b || c) >&2; d", "echo \"$?\\\" 'x'", "((", "2>&1 x", "a\\"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		s, err := parseScript(line)
		if err == nil && len(s) == 0 && strings.TrimSpace(line) != "" && strings.ContainsAny(line, "abc") {
			t.Errorf("parseScript(%q) found nothing and no error", line)
		}
	})
}
