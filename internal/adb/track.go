package adb

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"time"
)

const (
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 10 * time.Second
)

// Track calls changed with the full list of devices at first and after each change, until ctx ends;
// it returns ctx's error then and never another. Calls come one at a time, from Track's own goroutine.
//
//  1. The server's announcements only wake Track: the list itself is asked for then, and every
//     Options.PollEvery anyway, so a missed or late announcement heals.
//  2. When the server is away, or silent for longer than Options.CallTimeout, the list is empty: no phone
//     can be driven through it. Track connects again with growing waits, the first within a tenth of a second.
//  3. With Options.StartMissing a server that is away is started.
func (c *Client) Track(ctx context.Context, changed func([]Device)) error {
	t := tracker{client: c, changed: changed}
	backoff, told := firstBackoff, false
	for {
		before := t.lists
		err := t.follow(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		progress := t.lists > before
		if progress {
			backoff, told = firstBackoff, false
		}
		// A stream that merely ended may be a server that was replaced: its successor is asked first.
		if !progress || !errors.Is(err, errStreamEnded) {
			t.report(nil)
			started := c.options.StartMissing && missing(err) && c.StartServer(ctx) == nil
			if c.options.Away != nil && (started || !told) {
				told = true
				c.options.Away(err, started)
			}
			if started {
				continue
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond + rand.N(backoff)):
		}
		if !progress {
			backoff = min(2*backoff, lastBackoff)
		}
	}
}

// Follow is Track without its patience: it returns as soon as the server is lost, and says why. Transport ids
// mean nothing after that.
func (c *Client) Follow(ctx context.Context, changed func([]Device)) error {
	t := tracker{client: c, changed: changed}
	err := t.follow(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// errStreamEnded says that the server closed the stream of announcements.
var errStreamEnded = errors.New("adb server ended the announcements")

type tracker struct {
	client  *Client
	changed func([]Device)
	last    []Device
	lists   int // how many were read
	told    bool
}

// follow reports until the server is lost; it returns why.
func (t *tracker) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	woken, ended, err := t.client.announcements(ctx)
	if err != nil {
		return err
	}
	defer func() { cancel(); <-ended }()
	poll := time.NewTicker(t.client.options.PollEvery)
	defer poll.Stop()
	for {
		devices, err := t.client.Devices(ctx)
		if err != nil {
			return err
		}
		t.lists++
		t.report(devices)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			return errStreamEnded
		case <-woken:
		case <-poll.C:
		}
	}
}

func (t *tracker) report(devices []Device) {
	if t.told && slices.Equal(devices, t.last) {
		return
	}
	t.told, t.last = true, devices
	t.changed(slices.Clone(devices))
}

// announcements opens the server's stream of changes. woken gets a token after one or more of them,
// ended is closed when the stream is over, at the latest soon after ctx ends.
func (c *Client) announcements(ctx context.Context) (woken, ended chan struct{}, err error) {
	opening, cancel := context.WithTimeout(ctx, c.options.CallTimeout)
	defer cancel()
	conn, err := c.connect(opening)
	if err != nil {
		return nil, nil, err
	}
	release := closeWith(opening, conn)
	err = ask(conn, "host:track-devices")
	if !release() && err == nil {
		err = net.ErrClosed
	}
	if err != nil {
		conn.Close()
		return nil, nil, explain(opening, fmt.Errorf("following the devices: %w", err))
	}
	woken, ended = make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(ended)
		defer conn.Close()
		defer closeWith(ctx, conn)()
		for {
			if _, err := ReadBlock(conn); err != nil {
				return
			}
			select {
			case woken <- struct{}{}:
			default:
			}
		}
	}()
	return woken, ended, nil
}
