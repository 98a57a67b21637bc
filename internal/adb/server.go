package adb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// startTimeout bounds the start of a server; a first one also makes its keys.
const startTimeout = 20 * time.Second

// StartServer starts a server at the client's address unless one answers there, of whatever version. It lives on after this
// process, as one started by adb does, and nothing here ever ends a server: what is run is the server itself, which ends when the
// address is taken, and not adb's start-server, which kills one of another version.
// A server on another machine cannot be started: that is an error in whose chain is ErrUnreachable.
func (c *Client) StartServer(ctx context.Context) error {
	_, err := c.Version(ctx)
	if !missing(err) {
		return err
	}
	if !c.addr.local() {
		return fmt.Errorf("starting an adb server: %s is not on this machine: %w", c.addr, err)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := c.launch(ctx); err != nil {
		return fmt.Errorf("starting an adb server at %s: %w", c.addr, err)
	}
	if _, err := c.Version(ctx); err != nil {
		return fmt.Errorf("asking the adb server that was just started: %w", err)
	}
	return nil
}

// launch runs a server in a group of its own and waits until it says that it serves.
func (c *Client) launch(ctx context.Context) error {
	said, reply, err := os.Pipe()
	if err != nil {
		return err
	}
	defer said.Close()
	defer context.AfterFunc(ctx, func() { said.Close() })()
	cmd := exec.Command(c.options.Binary, "-L", c.addr.listenSpec(), "fork-server", "server", "--reply-fd", "3")
	cmd.Env = append(os.Environ(), c.options.Environ...)
	cmd.ExtraFiles = []*os.File{reply}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	reply.Close()
	if err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // only so that no dead process stays: it may live longer than this one
	text, err := io.ReadAll(io.LimitReader(said, maxReply))
	if strings.HasPrefix(string(text), "OK") {
		return nil
	}
	if ctx.Err() != nil {
		_ = cmd.Process.Kill() // it may have ended
		return ctx.Err()
	}
	return fmt.Errorf("it ended: %s: %w", printable(strings.TrimSpace(string(text))), cmp.Or(err, io.ErrUnexpectedEOF))
}

// maxReply is how much a server says at its start.
const maxReply = 4 << 10

// ProgramVersion is the version of the adb program, the number behind the dots of "1.0.41". The program is asked for nothing
// else: it does not look for a server then.
func (c *Client) ProgramVersion(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.CallTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.options.Binary, "version")
	cmd.Env = append(os.Environ(), c.options.Environ...)
	cmd.WaitDelay = time.Second
	text, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("asking the adb program for its version: %w", err)
	}
	return parseProgramVersion(string(text))
}

var programVersion = regexp.MustCompile(`(?m)^Android Debug Bridge version \d+\.\d+\.(\d{1,5})\s*$`)

func parseProgramVersion(text string) (int, error) {
	match := programVersion.FindStringSubmatch(text)
	if match == nil {
		return 0, errors.New("the adb program does not say its version")
	}
	return strconv.Atoi(match[1])
}

// missing reports whether err says that nothing listens at the address. A server that does not answer
// in time is there: running adb against it would hang, or replace it.
func missing(err error) bool {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return false
	}
	return errors.Is(err, ErrUnreachable)
}
