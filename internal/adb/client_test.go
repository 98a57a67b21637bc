package adb

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// scripted returns a client whose every connection is served by serve, which gets each request and
// owns the connection until it returns.
func scripted(o Options, serve func(conn net.Conn, request string) bool) *Client {
	c := New(Address{}, o)
	c.dial = func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			for {
				request, err := ReadBlock(theirs)
				if err != nil || !serve(theirs, request) {
					return
				}
			}
		}()
		return ours, nil
	}
	return c
}

func block(s string) string { return fmt.Sprintf("%04x%s", len(s), s) }

// packet is one of the second shell protocol.
func packet(kind byte, body string) string {
	var n [4]byte
	binary.LittleEndian.PutUint32(n[:], uint32(len(body)))
	return string(kind) + string(n[:]) + body
}

func TestEveryCallEndsWhenTheServerIsSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		silent := scripted(Options{}, func(conn net.Conn, _ string) bool {
			_, _ = io.Copy(io.Discard, conn)
			return false
		})
		for _, c := range []struct {
			name string
			call func(context.Context) error
		}{
			{"version", func(ctx context.Context) error { _, err := silent.Version(ctx); return err }},
			{"devices", func(ctx context.Context) error { _, err := silent.Devices(ctx); return err }},
			{"shell", func(ctx context.Context) error { _, err := silent.Shell(ctx, Device{TransportID: 1}, "id"); return err }},
			{"properties", func(ctx context.Context) error { _, err := silent.Properties(ctx, Device{TransportID: 1}); return err }},
			{"open", func(ctx context.Context) error {
				_, err := silent.Open(ctx, Device{TransportID: 1}, "tcp:1")
				return err
			}},
		} {
			start := time.Now()
			err := c.call(t.Context())
			if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != 5*time.Second {
				t.Errorf("%s: %v after %v, want a deadline after 5s", c.name, err, took)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			start = time.Now()
			err = c.call(ctx)
			if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != time.Second {
				t.Errorf("%s: %v after %v, want the caller's deadline after 1s", c.name, err, took)
			}
			cancel()
		}
	})
}

func TestAShellCommandThatNeverEndsIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := scripted(Options{ShellTimeout: 7 * time.Second}, func(conn net.Conn, request string) bool {
			_, _ = io.WriteString(conn, "OKAY")
			if strings.HasSuffix(request, ":features") {
				_, _ = io.WriteString(conn, block("cmd,shell_v2"))
			}
			return !strings.HasPrefix(request, "shell") || func() bool { _, _ = io.Copy(io.Discard, conn); return false }()
		})
		start := time.Now()
		_, err := c.Shell(t.Context(), Device{TransportID: 1}, "cat /dev/secret")
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != 7*time.Second {
			t.Errorf("%v after %v, want a deadline after 7s", err, took)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%q holds the command line, want it kept out", err)
		}
	})
}

func TestAnswersOutsideTheProtocolAreErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, answer, want string }{
		{"refused", "FAIL" + block("no such\x1b thing"), "no such\uFFFD thing"},
		{"another protocol", "HTTP/1.1 400 Bad Request", "not of the adb protocol"},
		{"no length", "OKAYzzzz", "not of the adb protocol"},
		{"cut off", "OKAY0010abc", "reading 16 bytes"},
		{"nothing", "", "reading the status"},
		{"not a number", "OKAY" + block("xyz"), "no hexadecimal number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client := scripted(Options{}, func(conn net.Conn, _ string) bool {
				_, _ = io.WriteString(conn, c.answer)
				return false
			})
			n, err := client.Version(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Version = %d, %v, want an error with %q", n, err, c.want)
			}
			var refusal *Refusal
			if got := errors.As(err, &refusal); got != (c.name == "refused") {
				t.Errorf("%v is a refusal: %v", err, got)
			}
		})
	}
}

func TestShellReadsBothProtocols(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, features, answer string
		want                   Output
		bad                    string
	}{
		{"packets", "shell_v2", packet(1, "out") + packet(2, "err") + packet(9, "?") + packet(1, "more") + packet(3, "\x07"), Output{"outmore", "err", 7}, ""},
		{"packets cut off", "shell_v2", packet(1, "out"), Output{}, "unexpected EOF"},
		{"a packet too large", "shell_v2", "\x01\xff\xff\xff\xff", Output{}, "larger than"},
		{"plain", "cmd", "one\r\ntwo\r\n" + exitMark + "3\r\n", Output{Stdout: "one\ntwo\n", ExitCode: 3}, ""},
		{"plain that prints the mark", "", exitMark + "9\n" + exitMark + "0\n", Output{Stdout: exitMark + "9\n"}, ""},
		{"plain cut off", "", "one", Output{}, "unexpected EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client := scripted(Options{}, func(conn net.Conn, request string) bool {
				_, _ = io.WriteString(conn, "OKAY")
				switch {
				case strings.HasSuffix(request, ":features"):
					_, _ = io.WriteString(conn, block(c.features))
				case strings.HasPrefix(request, "shell,v2"):
					_, _ = io.CopyN(io.Discard, conn, 5) // the end of its standard input
					fallthrough
				case strings.HasPrefix(request, "shell"):
					_, _ = io.WriteString(conn, c.answer)
					return false
				}
				return true
			})
			got, err := client.Shell(t.Context(), Device{TransportID: 1}, "x")
			if c.bad != "" {
				if err == nil || !strings.Contains(err.Error(), c.bad) {
					t.Errorf("Shell = %+v, %v, want an error with %q", got, err, c.bad)
				}
				return
			}
			if err != nil || got != c.want {
				t.Errorf("Shell = %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

func TestPropertiesMayHoldAnything(t *testing.T) {
	t.Parallel()
	got := parseProperties("warning: something\n[a]: [b]\r\n[empty]: []\n[brackets]: [x]: [y]]\n[lines]: [one\ntwo\nthree]\n[cut]: [off")
	want := map[string]string{"a": "b", "empty": "", "brackets": "x]: [y]", "lines": "one\ntwo\nthree"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-) got (+):\n%s", diff)
	}
}
