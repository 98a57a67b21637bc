package adb

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
)

// maxOutput bounds what one command may print: Shell is for questions, not for logs.
const maxOutput = 16 << 20

// Packets of the second shell protocol: one byte of kind, four of length, little end first.
const (
	packetStdout     = 1
	packetStderr     = 2
	packetExit       = 3
	packetCloseStdin = 4
)

// exitMark goes before the exit code where the phone cannot send one.
const exitMark = "phonebooth-exit:"

// Output is what a command left.
type Output struct {
	// Stdout and Stderr are as the phone sent them. A phone without shell_v2 sends both on Stdout.
	Stdout, Stderr string
	ExitCode       int
}

// Shell runs command with the phone's own shell and waits for its end. The command's standard input
// is empty. An exit code other than 0 is no error: an error means that the end was not seen, so the
// command may or may not have run. When ctx ends the stream is closed, and the phone stops the command.
func (c *Client) Shell(ctx context.Context, d Device, command string) (Output, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.ShellTimeout)
	defer cancel()
	features, err := c.Features(ctx, d)
	if err != nil {
		return Output{}, fmt.Errorf("preparing a shell: %w", err)
	}
	if slices.Contains(features, "shell_v2") {
		return c.shellPackets(ctx, d, command)
	}
	return c.shellPlain(ctx, d, command)
}

func (c *Client) shellPackets(ctx context.Context, d Device, command string) (Output, error) {
	conn, err := c.Open(ctx, d, "shell,v2,raw:"+command)
	if err != nil {
		return Output{}, fmt.Errorf("opening a shell: %w", err)
	}
	defer conn.Close()
	defer closeWith(ctx, conn)()
	if _, err := conn.Write([]byte{packetCloseStdin, 0, 0, 0, 0}); err != nil {
		return Output{}, shellError(ctx, err)
	}
	out, err := readPackets(conn)
	if err != nil {
		return Output{}, shellError(ctx, err)
	}
	return out, nil
}

func readPackets(conn net.Conn) (Output, error) {
	var stdout, stderr bytes.Buffer
	for {
		var head [5]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return Output{}, fmt.Errorf("reading a packet: %w", err)
		}
		n := int64(binary.LittleEndian.Uint32(head[1:]))
		if n+int64(stdout.Len()+stderr.Len()) > maxOutput {
			return Output{}, fmt.Errorf("the output is larger than %d bytes", maxOutput)
		}
		into := &bytes.Buffer{}
		switch head[0] {
		case packetStdout:
			into = &stdout
		case packetStderr:
			into = &stderr
		}
		if _, err := io.CopyN(into, conn, n); err != nil {
			return Output{}, fmt.Errorf("reading a packet of %d bytes: %w", n, err)
		}
		if head[0] == packetExit {
			if n != 1 {
				return Output{}, fmt.Errorf("an exit packet of %d bytes is not of the adb protocol", n)
			}
			return Output{stdout.String(), stderr.String(), int(into.Bytes()[0])}, nil
		}
	}
}

// shellPlain serves phones before Android 7: one mixed stream, lines perhaps ended as on a terminal, and no
// exit code but the one that the phone's shell is asked to print.
func (c *Client) shellPlain(ctx context.Context, d Device, command string) (Output, error) {
	conn, err := c.Open(ctx, d, "shell:("+command+"\n); echo "+exitMark+"$?")
	if err != nil {
		return Output{}, fmt.Errorf("opening a shell: %w", err)
	}
	defer conn.Close()
	defer closeWith(ctx, conn)()
	all, err := io.ReadAll(io.LimitReader(conn, maxOutput+1))
	if err != nil {
		return Output{}, shellError(ctx, err)
	}
	if len(all) > maxOutput {
		return Output{}, fmt.Errorf("running a shell command: the output is larger than %d bytes", maxOutput)
	}
	all = bytes.ReplaceAll(all, []byte("\r\n"), []byte("\n"))
	at := bytes.LastIndex(all, []byte(exitMark))
	if at < 0 {
		return Output{}, shellError(ctx, io.ErrUnexpectedEOF)
	}
	code, err := strconv.ParseUint(string(bytes.TrimSpace(all[at+len(exitMark):])), 10, 8)
	if err != nil {
		return Output{}, shellError(ctx, io.ErrUnexpectedEOF)
	}
	return Output{Stdout: string(all[:at]), ExitCode: int(code)}, nil
}

func shellError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = ctx.Err()
	} else if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("running a shell command: %w", err)
}
