package adb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"
)

// startTimeout bounds the start of a server; a first one also makes its keys.
const startTimeout = 20 * time.Second

// StartServer starts a server at the client's address unless one answers there, of whatever version.
// It lives on after this process, as one started by adb does, and nothing here ever ends a server.
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
	cmd := exec.CommandContext(ctx, c.options.Binary, "-L", c.addr.listenSpec(), "start-server")
	cmd.Env = append(os.Environ(), c.options.Environ...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	// The server may inherit the pipe: its holding it open must not keep us.
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return fmt.Errorf("starting an adb server at %s: %w: %s", c.addr, err, lastLine(said.String()))
	}
	if _, err := c.Version(ctx); err != nil {
		return fmt.Errorf("asking the adb server that was just started: %w", err)
	}
	return nil
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

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return printable(lines[len(lines)-1])
}
