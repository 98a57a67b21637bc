package client

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// silence is after how long without a byte a stream is taken for dead; the server sends one every 15 seconds at least.
const silence = 45 * time.Second

// message is one server-sent event, or only a position.
type message struct{ id, kind, data string }

// messages gives those of one stream to take, until the connection ends or take wants no more; then more is false. An error is
// a refusal, take's, or that there was no connection for too long.
func (c *Client) messages(ctx context.Context, path []string, query url.Values, header http.Header, take func(message) (more bool, err error)) (more bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	header.Set("Accept", "text/event-stream")
	body, err := c.open(ctx, request{method: http.MethodGet, path: path, query: query, header: header, safe: true})
	if err != nil {
		return true, err
	}
	defer body.Close()
	watchdog := time.AfterFunc(silence, cancel)
	defer watchdog.Stop()
	lines := bufio.NewScanner(&watched{body, watchdog})
	lines.Buffer(nil, 1<<20)
	var m message
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case name == "id":
			m.id = value
		case name == "event":
			m.kind = value
		case name == "data":
			m.data = value
		case lines.Text() == "": // the end of a message
			if more, err := take(m); !more || err != nil {
				return more, err
			}
			m = message{}
		}
	}
	return true, nil
}

// watched puts off its watchdog with every byte.
type watched struct {
	io.Reader
	watchdog *time.Timer
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if n > 0 {
		w.watchdog.Reset(silence)
	}
	return n, err
}
