package webdriver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"strings"

	"github.com/phonebooth-dev/phonebooth/internal/fence"
)

const (
	maxCommand = 32 << 20 // of a command for a new browser, which may bring extensions
	maxCreated = 4 << 20  // of the answer to it
	maxPath    = 8 << 10
	piece      = 32 << 10
)

// The protocol's paths that the gate passes, with what is below the second. chromedriver has others: one ends it, one lists.
const (
	statusPath = "/status"
	createPath = "/session"
)

// serve answers one command.
func (g *gate) serve(w http.ResponseWriter, r *http.Request) {
	err := g.admit(r)
	if err == nil {
		err = g.fence.MayPass()
	}
	switch {
	case err != nil:
	case r.URL.Path == createPath && r.Method == http.MethodPost:
		err = g.create(w, r)
	default:
		err = g.carry(w, r)
	}
	if err != nil {
		refuse(w, r, err)
	}
}

// admit refuses what is no command of a WebDriver client: a page in any browser of this machine can send requests to any
// port of it, and says where it comes from.
func (g *gate) admit(r *http.Request) error {
	host, port, err := net.SplitHostPort(r.Host)
	_, ours, _ := net.SplitHostPort(g.door.Addr().String()) // an address of the system's own
	if err != nil || port != ours || host != "127.0.0.1" && host != "localhost" {
		return &refusal{http.StatusForbidden, "unknown error", "this server has another name: " + g.url()}
	}
	if r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "" {
		return &refusal{http.StatusForbidden, "unknown error", "web pages may not drive a phone"}
	}
	known := r.URL.Path == statusPath || r.URL.Path == createPath || strings.HasPrefix(r.URL.Path, createPath+"/")
	if !known || path.Clean(r.URL.Path) != r.URL.Path || len(r.URL.EscapedPath()) > maxPath || r.Header.Get("Upgrade") != "" {
		return &refusal{http.StatusNotFound, "unknown command", "this server has /status, /session and what is below that"}
	}
	return nil
}

// carry passes a command and its answer.
func (g *gate) carry(w http.ResponseWriter, r *http.Request) error {
	answer, err := g.pass(r, r.Body, r.ContentLength)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	head(w, answer, answer.ContentLength)
	g.copy(w, answer.Body)
	if id, found := strings.CutPrefix(r.URL.Path, createPath+"/"); found && r.Method == http.MethodDelete && answer.StatusCode == http.StatusOK {
		g.forget(id)
	}
	return nil
}

// create passes a command for a new browser, which gets a directory of its own.
func (g *gate) create(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCommand))
	if err != nil {
		return invalid("the command could not be read, or is longer than %d MiB", maxCommand>>20)
	}
	profile, err := g.place.profile()
	if err != nil {
		return fmt.Errorf("making a profile: %w", err)
	}
	created := false
	defer func() {
		if !created {
			_ = os.RemoveAll(profile) // what is left is removed with the lease
		}
	}()
	if body, err = g.browser.merge(body, profile); err != nil {
		return err
	}
	answer, err := g.pass(r, bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxCreated))
	if err != nil {
		return fmt.Errorf("reading chromedriver's answer: %w", err)
	}
	var made struct {
		Value struct {
			ID string `json:"sessionId"`
		} `json:"value"`
	}
	if answer.StatusCode == http.StatusOK && json.Unmarshal(text, &made) == nil && made.Value.ID != "" {
		created = true
		g.mu.Lock()
		g.profiles[made.Value.ID] = profile
		g.mu.Unlock()
	}
	head(w, answer, int64(len(text)))
	g.copy(w, bytes.NewReader(text))
	return nil
}

// forget removes the directory of a browser that has ended.
func (g *gate) forget(id string) {
	g.mu.Lock()
	profile := g.profiles[id]
	delete(g.profiles, id)
	g.mu.Unlock()
	if profile != "" {
		_ = os.RemoveAll(profile) // what is left is removed with the lease
	}
}

// pass sends a command to chromedriver, which is started if it was not, and tells the lease's log.
func (g *gate) pass(r *http.Request, body io.Reader, length int64) (*http.Response, error) {
	address, err := g.driver.up(r.Context())
	if err != nil {
		return nil, err
	}
	if err := g.fence.MayPass(); err != nil {
		return nil, err
	}
	if length == 0 {
		body = nil
	}
	command, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+address+r.URL.EscapedPath(), body)
	if err != nil {
		return nil, &refusal{http.StatusNotFound, "unknown command", "no such method or path"}
	}
	command.ContentLength = length
	for _, name := range []string{"Content-Type", "Accept"} {
		if value := r.Header.Get(name); value != "" {
			command.Header.Set(name, value)
		}
	}
	if g.lease.Log != nil {
		_, _ = fmt.Fprintln(g.lease.Log, r.Method, r.URL.EscapedPath()) // who gave the log sees to its errors
	}
	return g.transport.RoundTrip(command)
}

// head passes the head of an answer.
func head(w http.ResponseWriter, answer *http.Response, length int64) {
	for _, name := range []string{"Content-Type", "Cache-Control"} {
		if value := answer.Header.Get(name); value != "" {
			w.Header().Set(name, value)
		}
	}
	if length >= 0 {
		w.Header().Set("Content-Length", fmt.Sprint(length))
	}
	w.WriteHeader(answer.StatusCode)
}

// copy passes the body of an answer, piece by piece. One that cannot be passed whole ends the connection.
func (g *gate) copy(w http.ResponseWriter, body io.Reader) {
	buffer := make([]byte, piece)
	for {
		n, err := body.Read(buffer)
		if g.fence.MayPass() != nil {
			panic(http.ErrAbortHandler)
		}
		if _, werr := w.Write(buffer[:n]); werr != nil {
			return
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

// refuse answers as the protocol says. Whoever asks for a new browser is told that there is none; anybody else that the
// browser is not there, when that is so.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	said, ok := errors.AsType[*refusal](err)
	if !ok {
		said = &refusal{http.StatusInternalServerError, "unknown error", "chromedriver cannot be reached"}
		switch {
		case errors.Is(err, fence.ErrCut), errors.Is(err, fence.ErrFenced):
			said = &refusal{http.StatusNotFound, "invalid session id", err.Error()}
		case errors.Is(err, errEnded):
			said.message = "chromedriver has ended"
		}
		if r.URL.Path == createPath {
			said.status, said.code = http.StatusInternalServerError, "session not created"
		}
	}
	text, err := json.Marshal(map[string]any{"value": map[string]string{"error": said.code, "message": said.message, "stacktrace": ""}})
	if err != nil {
		return // strings can be marshalled
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(said.status)
	_, _ = w.Write(append(text, '\n')) // a client that has gone does not want to know
}
