//go:build linux

package webdriver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/bridge/bridgetest"
	"github.com/phonebooth-dev/phonebooth/bridge/webdriver"
	"github.com/phonebooth-dev/phonebooth/bridge/webdriver/webdrivertest"
)

// phone is one phone of a bridge, opened.
type phone struct {
	bridge.Access
	url string
	dir string // where the bridge makes its leases' directories
	log *lines
}

// lines is a lease's log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// open opens a phone of real programs, and closes it when the test ends.
func open(t *testing.T, o webdriver.Options, lease bridge.Lease) *phone {
	t.Helper()
	webdrivertest.Need(t)
	return openOf(t, o, lease)
}

func openOf(t *testing.T, o webdriver.Options, lease bridge.Lease) *phone {
	t.Helper()
	o.Dir = shortDir(t)
	b, err := webdriver.New(o)
	if err != nil {
		t.Fatal(err)
	}
	bridgetest.Watch(t, b).Until(t, "a ready phone", func(list []bridge.Device) bool {
		return len(list) > 0 && list[0].Condition == phonebooth.Ready
	})
	p := &phone{dir: o.Dir, log: &lines{}}
	lease.Log = p.log
	if p.Access, err = b.Open(t.Context(), "phone-1", lease); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := p.Close(ctx); err != nil {
			t.Errorf("closing: %v", err)
		}
		if left, _ := filepath.Glob(filepath.Join(o.Dir, "*")); len(left) != 0 {
			t.Errorf("%q are left", left)
		}
	})
	p.url = urlOf(t, p.Access)
	return p
}

// shortDir is a directory whose path leaves room for a browser's sockets.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "wd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func urlOf(t testing.TB, a bridge.Access) string {
	t.Helper()
	for _, entry := range a.Env() {
		if url, found := strings.CutPrefix(entry, "WEBDRIVER_URL="); found {
			return url
		}
	}
	t.Fatalf("%q has no WEBDRIVER_URL", a.Env())
	return ""
}

// answer is what a command came to.
type answer struct {
	status int
	value  json.RawMessage
}

// refusedAs reads the protocol's form of an error.
func (a answer) refusedAs() (code, message string) {
	var e struct{ Error, Message string }
	_ = json.Unmarshal(a.value, &e) // another form has no code
	return e.Error, e.Message
}

// try sends a command.
func (p *phone) try(method, path string, body any) (answer, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return answer{}, err
	}
	if body == nil {
		text = nil
	}
	request, err := http.NewRequest(method, p.url+path, bytes.NewReader(text))
	if err != nil {
		return answer{}, err
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode}
	var whole struct{ Value json.RawMessage }
	if err := json.NewDecoder(response.Body).Decode(&whole); err != nil {
		return a, fmt.Errorf("%s %s: %w", method, path, err)
	}
	a.value = whole.Value
	return a, nil
}

// do sends a command that works, and reads its value into v.
func (p *phone) do(t testing.TB, method, path string, body, v any) {
	t.Helper()
	a, err := p.try(method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	if a.status != http.StatusOK {
		t.Fatalf("%s %s: %d %s", method, path, a.status, a.value)
	}
	if v != nil {
		if err := json.Unmarshal(a.value, v); err != nil {
			t.Fatal(err)
		}
	}
}

// browse opens a browser and returns its path.
func (p *phone) browse(t testing.TB, capabilities map[string]any) string {
	t.Helper()
	if capabilities == nil {
		capabilities = map[string]any{}
	}
	var made map[string]any
	p.do(t, http.MethodPost, "/session", map[string]any{"capabilities": capabilities}, &made)
	return fmt.Sprint("/session/", made["sessionId"])
}

func (p *phone) refused(t testing.TB, method, path string, body any, code, say string) {
	t.Helper()
	a, err := p.try(method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	if got, message := a.refusedAs(); got != code || !strings.Contains(message, say) || a.status < 400 {
		t.Errorf("%s %s: %d %q %q, want %q, saying %q", method, path, a.status, got, message, code, say)
	}
}

func TestACutEndsWhatIsOpenAndSaysSoToWhoeverComes(t *testing.T) {
	t.Parallel()
	p := open(t, webdriver.Options{}, bridge.Lease{})
	browser := p.browse(t, nil)
	hanging := make(chan struct{})
	go func() {
		defer close(hanging)
		_, _ = p.try(http.MethodPost, browser+"/execute/async", map[string]any{"script": "document.title = 'waiting'", "args": []any{}})
	}()
	eventually(t, "the command runs", func() bool { return strings.Contains(p.log.String(), "/execute/async") })
	p.Cut()
	select {
	case <-hanging:
	case <-time.After(10 * time.Second):
		t.Fatal("the command goes on after the cut")
	}
	p.refused(t, http.MethodGet, browser+"/title", nil, "invalid session id", "the lease has ended")
	p.refused(t, http.MethodPost, "/session", map[string]any{"capabilities": map[string]any{}}, "session not created", "the lease has ended")
	if err := p.Probe(t.Context()); err != nil {
		t.Errorf("probing what was cut: %v, want nil: the phone is not gone", err)
	}
}

// The driver here is one that never listens, so that what a command waits for ends with the cut and not before.
func TestACutIsQuick(t *testing.T) {
	t.Parallel()
	f := fake(t)
	pidFile := filepath.Join(f.dir, "pid")
	script := "#!/bin/sh\ntest \"$1\" != --version || { echo ChromeDriver 156.0.1; exit; }\necho $$ >" + pidFile + ".new && mv " + pidFile + ".new " + pidFile + "\nexec sleep 600\n"
	f.put(t, f.driver, script)
	b := f.bridge(t)
	bridgetest.Watch(t, b).Until(t, "a ready phone", func(list []bridge.Device) bool {
		return len(list) > 0 && list[0].Condition == phonebooth.Ready
	})
	var command, driver time.Duration
	for range 10 { // the machine may be busy with others just then
		access, err := b.Open(t.Context(), "phone-1", bridge.Lease{})
		if err != nil {
			t.Fatal(err)
		}
		p := &phone{Access: access, url: strings.TrimPrefix(access.Env()[0], "WEBDRIVER_URL=")}
		ended := make(chan time.Time, 1)
		go func() {
			_, _ = p.try(http.MethodPost, "/session", map[string]any{"capabilities": map[string]any{}})
			ended <- time.Now()
		}()
		var pid int
		eventually(t, "the driver runs", func() bool {
			text, _ := os.ReadFile(pidFile) // it is there soon
			pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
			return err == nil
		})
		cut := time.Now()
		access.Cut()
		eventually(t, "the driver's death", func() bool {
			driver = time.Since(cut)
			return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
		})
		command = (<-ended).Sub(cut)
		if err := errors.Join(access.Close(t.Context()), os.Remove(pidFile)); err != nil {
			t.Fatal(err)
		}
		if max(command, driver) <= 100*time.Millisecond {
			return
		}
	}
	t.Errorf("a command ended %v after the cut, and the driver %v after it; want 100 ms at most", command, driver)
}

func TestAGateOfALeaseThatMayNotDrivePassesNothing(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	may := true
	p := open(t, webdriver.Options{}, bridge.Lease{MayDrive: func() bool {
		mu.Lock()
		defer mu.Unlock()
		return may
	}})
	browser := p.browse(t, nil)

	// One client has said half of what it wants when the fence passes; and nobody cuts.
	half, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer half.Close()
	fmt.Fprintf(half, "POST %s/url HTTP/1.1\r\nHost: %s\r\nContent-Length: 20\r\n\r\n{\"url\":", browser, strings.TrimPrefix(p.url, "http://"))
	eventually(t, "the command was begun", func() bool { return strings.Contains(p.log.String(), "/url") })
	mu.Lock()
	may = false
	mu.Unlock()
	fmt.Fprint(half, `"about:blank"}`)
	_ = half.SetReadDeadline(time.Now().Add(10 * time.Second))
	if text, _ := io.ReadAll(half); strings.Contains(string(text), "200 OK") {
		t.Errorf("half of a command went on after the fence: %.200s", text)
	}
	p.refused(t, http.MethodGet, browser+"/title", nil, "invalid session id", "lease")
	if strings.Contains(p.log.String(), "/title") {
		t.Errorf("the log tells of a command that was not passed:\n%s", p.log)
	}
}

func TestTheGateHasNothingButItsBrowsers(t *testing.T) {
	t.Parallel()
	p := open(t, webdriver.Options{}, bridge.Lease{})
	for _, path := range []string{"/shutdown", "/sessions", "/session/../shutdown", "/session/%2e%2e/shutdown", "/session/", "//session", "/"} {
		p.refused(t, http.MethodGet, path, nil, "unknown command", "/status")
	}
	for name, value := range map[string]string{"Origin": "http://127.0.0.1", "Sec-Fetch-Site": "same-site", "Host": "pages.example"} {
		request, err := http.NewRequest(http.MethodGet, p.url+"/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set(name, value)
		if name == "Host" {
			request.Host = value
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusForbidden {
			t.Errorf("with %s: %s the answer is %s, want 403", name, value, response.Status)
		}
	}
	if p.log.String() != "" {
		t.Errorf("chromedriver was told %q, want nothing yet", p.log)
	}
	if err := p.Probe(t.Context()); err != nil {
		t.Errorf("probing a phone that nobody used yet: %v", err)
	}
}

func TestADriverThatWasEndedIsStartedAgain(t *testing.T) {
	t.Parallel()
	p := open(t, webdriver.Options{}, bridge.Lease{})
	for range 2 {
		p.do(t, http.MethodGet, "/status", nil, nil)
		if err := p.Probe(t.Context()); err != nil {
			t.Errorf("probing: %v", err)
		}
		for _, pid := range processesOf(p.dir) { // as the host does with each program of the lease that ends
			kill(pid)
		}
		if err := p.Probe(t.Context()); err != nil {
			t.Errorf("probing when the driver has ended: %v, want nil: the phone is not gone", err)
		}
		eventually(t, "the driver's end", func() bool { return len(processesOf(p.dir)) == 0 })
	}
}

func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(30 * time.Second); !done(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}
