// Package adb speaks the wire protocol of the adb server: which phones are attached, in which state,
// and commands on one of them.
//
// It is a client of the server that adb installs, and no replacement for it: the server talks to the
// phones. It is not the gate that a lease sees, and it decides nothing about leases. The adb program
// itself is run in two cases only, as a server where none answers and for its version, because as a client that program
// kills a server of another version without being asked.
//
//	addr, err := adb.ResolveAddress("", os.Getenv)
//	c := adb.New(addr, adb.Options{})
//	devices, err := c.Devices(ctx)
//	out, err := c.Shell(ctx, devices[0], "id")
//
// Phones are addressed by transport id alone, so two with one serial are two. Identify, a pure
// function, says which transports are one phone.
//
// A Client holds no connection and no state: everything on it may run at the same time. Every call
// ends with its context or after a bound of its own, whichever comes first; a server that is stopped
// or wedged is an error, never a hang.
package adb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// ErrUnreachable is in the chain of every error that says that no server answered at the address.
var ErrUnreachable = errors.New("adb server not reachable")

// Refusal is the server's own no to a request, in its words: a transport that is gone, a service it does not know.
type Refusal struct {
	Request string
	Message string
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("adb server refused %s: %s", r.Request, r.Message)
}

// Options tunes a Client. The zero value is production.
type Options struct {
	// Binary is the adb program, looked up in PATH; "adb" if empty. Only StartServer and ProgramVersion run it.
	Binary string
	// Environ is what StartServer gives to adb on top of this process's environment.
	Environ []string
	// StartMissing lets Track call StartServer whenever no server answers.
	StartMissing bool
	// Away is called by Track when the server cannot be had, and each time Track has started one; err is why it was away. It is
	// called once until the server has answered again.
	Away func(err error, started bool)
	// PollEvery is how often Track asks even when nothing was announced; 5 s if zero.
	PollEvery time.Duration
	// CallTimeout bounds one request to the server; 5 s if zero.
	CallTimeout time.Duration
	// ShellTimeout bounds one shell command; one minute if zero.
	ShellTimeout time.Duration
	// Dial connects to the server; nil: as package net does it. What Client.Open returns is what it returned.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client asks one adb server.
type Client struct {
	addr    Address
	options Options
	dial    func(ctx context.Context) (net.Conn, error)
}

// New returns a client of the server at addr. It does not connect.
func New(addr Address, o Options) *Client {
	if o.Binary == "" {
		o.Binary = "adb"
	}
	for _, d := range []struct {
		value *time.Duration
		zero  time.Duration
	}{{&o.PollEvery, 5 * time.Second}, {&o.CallTimeout, 5 * time.Second}, {&o.ShellTimeout, time.Minute}} {
		if *d.value <= 0 {
			*d.value = d.zero
		}
	}
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	addr = addr.orDefault()
	return &Client{addr: addr, options: o, dial: func(ctx context.Context) (net.Conn, error) {
		return o.Dial(ctx, addr.network, addr.target)
	}}
}

// Address is where the client's server is.
func (c *Client) Address() Address { return c.addr }

// Version is the server's protocol version, the number behind the dots of "1.0.41".
func (c *Client) Version(ctx context.Context) (int, error) {
	text, err := c.Query(ctx, "host:version")
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(text, 16, 16)
	if err != nil {
		return 0, fmt.Errorf("reading the adb server's version: %q is no hexadecimal number", printable(text))
	}
	return int(n), nil
}

// Devices lists every transport the server knows, in its order and whatever its state.
func (c *Client) Devices(ctx context.Context) ([]Device, error) {
	list, err := c.Query(ctx, "host:devices-l")
	if err != nil {
		return nil, err
	}
	return ParseDevices(list), nil
}

// Features lists what d's side can do, such as "shell_v2". The server keeps it from the time d was
// attached; d itself is not asked.
func (c *Client) Features(ctx context.Context, d Device) ([]string, error) {
	text, err := c.Query(ctx, fmt.Sprintf("host-transport-id:%d:features", d.TransportID))
	if err != nil || text == "" {
		return nil, err
	}
	return strings.Split(text, ","), nil
}

// Open starts a service on d ("shell:...", "exec:...", "tcp:80") and returns its stream. The caller
// closes it. ctx bounds the opening only, as far as Options.CallTimeout lets it.
func (c *Client) Open(ctx context.Context, d Device, service string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.CallTimeout)
	defer cancel()
	conn, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	release := closeWith(ctx, conn)
	err = ask(conn, fmt.Sprintf("host:transport-id:%d", d.TransportID))
	if err == nil {
		err = ask(conn, service)
	}
	if !release() && err == nil {
		err = net.ErrClosed
	}
	if err != nil {
		conn.Close()
		return nil, explain(ctx, err)
	}
	return conn, nil
}

// Query sends one request and reads its one answer. Of a request that the server refuses the error is a *Refusal.
func (c *Client) Query(ctx context.Context, request string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.CallTimeout)
	defer cancel()
	conn, err := c.connect(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	defer closeWith(ctx, conn)()
	if err := ask(conn, request); err != nil {
		return "", explain(ctx, err)
	}
	text, err := ReadBlock(conn)
	if err != nil {
		return "", explain(ctx, fmt.Errorf("reading the answer to %s: %w", request, err))
	}
	return text, nil
}

func (c *Client) connect(ctx context.Context) (net.Conn, error) {
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w at %s: %w", ErrUnreachable, c.addr, err)
	}
	return conn, nil
}

// closeWith closes conn when ctx ends. release undoes that and reports whether it came in time.
func closeWith(ctx context.Context, conn net.Conn) (release func() bool) {
	return context.AfterFunc(ctx, func() { conn.Close() })
}

// explain puts the end of ctx in the place of the closed connection that it caused.
func explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("adb server did not answer in time: %w", ctx.Err())
	}
	return err
}

// ask sends request and reads the server's OKAY.
func ask(conn io.ReadWriter, request string) error {
	if len(request) > 0xffff {
		return fmt.Errorf("adb request of %d bytes is longer than 65535", len(request))
	}
	if _, err := fmt.Fprintf(conn, "%04x%s", len(request), request); err != nil {
		return fmt.Errorf("sending %s: %w", requestName(request), err)
	}
	return ReadStatus(conn, requestName(request))
}

// ReadStatus reads OKAY, or FAIL and why, which is a *Refusal. request is for errors.
func ReadStatus(r io.Reader, request string) error {
	var status [4]byte
	if _, err := io.ReadFull(r, status[:]); err != nil {
		return fmt.Errorf("reading the status of %s: %w", request, err)
	}
	switch string(status[:]) {
	case "OKAY":
		return nil
	case "FAIL":
		message, err := ReadBlock(r)
		if err != nil {
			return fmt.Errorf("reading why %s was refused: %w", request, err)
		}
		return &Refusal{Request: request, Message: printable(message)}
	}
	return fmt.Errorf("status of %s: %q is not of the adb protocol", request, status[:])
}

// requestName leaves a command line out of errors: it may hold what nobody else should read.
func requestName(request string) string {
	for _, kind := range []string{"shell", "exec"} {
		if strings.HasPrefix(request, kind) {
			return kind
		}
	}
	return request
}

// ReadBlock reads four hexadecimal digits and as many bytes as they say.
func ReadBlock(r io.Reader) (string, error) {
	var digits [4]byte
	if _, err := io.ReadFull(r, digits[:]); err != nil {
		return "", fmt.Errorf("reading a length: %w", err)
	}
	n, err := strconv.ParseUint(string(digits[:]), 16, 16)
	if err != nil {
		return "", fmt.Errorf("a length of %q is not of the adb protocol", digits[:])
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return "", fmt.Errorf("reading %d bytes: %w", n, err)
	}
	return string(text), nil
}
