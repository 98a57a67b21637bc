//go:build linux

package webdriver_test

import (
	"bytes"
	"encoding/base64"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/bridge/webdriver"
)

const page = `<!doctype html><meta name="viewport" content="width=device-width"><title>A phone's page</title><h1>Hello</h1>`

// TestAPageIsOpenedOnAPhone drives the real Chromium.
func TestAPageIsOpenedOnAPhone(t *testing.T) {
	t.Parallel()
	agents := make(chan string, 10)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			agents <- r.UserAgent()
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(page))
	}))
	defer site.Close()
	for _, c := range []struct {
		name  string
		phone webdriver.Phone
		agent string
		want  []any // inner width and pixel ratio
	}{
		{"of a common size", webdriver.Phone{}, "Android", []any{412.0, 2.625}},
		{"that Chromium knows", webdriver.Phone{Device: "iPhone SE"}, "iPhone", []any{375.0, 2.0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := open(t, webdriver.Options{Phone: c.phone}, bridge.Lease{Env: []string{"MARK=of-the-lease"}})
			browser := p.browse(t, map[string]any{"alwaysMatch": map[string]any{
				"webSocketUrl": true,
				"goog:chromeOptions": map[string]any{
					"args": []string{"--remote-debugging-port=0", "--user-data-dir=" + filepath.Join(p.dir, "mine"), "mute-audio"},
				},
			}})
			p.do(t, http.MethodPost, browser+"/url", map[string]any{"url": site.URL + "/?secret=hunter2"}, nil)
			if got := <-agents; !strings.Contains(got, c.agent) || strings.Contains(got, "Headless") {
				t.Errorf("the page was asked for by %q, want %q in it", got, c.agent)
			}
			var title string
			p.do(t, http.MethodGet, browser+"/title", nil, &title)
			if title != "A phone's page" {
				t.Errorf("title %q, want that of the page", title)
			}
			var seen []any
			p.do(t, http.MethodPost, browser+"/execute/sync", map[string]any{
				"script": "return [innerWidth, devicePixelRatio]", "args": []any{},
			}, &seen)
			if diff := cmp.Diff(c.want, seen); diff != "" {
				t.Errorf("the page sees another screen (-want +got):\n%s", diff)
			}
			p.screenshot(t, browser)
			open(t, webdriver.Options{}, bridge.Lease{}).refused(t, http.MethodGet, browser+"/title", nil, "invalid session id", "")
			if got := marked(p.dir, "MARK=of-the-lease"); got < 2 {
				t.Errorf("%d processes carry the lease's mark, want chromedriver and Chromium", got)
			}
			if profiles, _ := filepath.Glob(filepath.Join(p.dir, "*", "profile-*")); len(profiles) != 1 {
				t.Errorf("profiles %q, want one", profiles)
			}
			p.do(t, http.MethodDelete, browser, nil, nil)
			if profiles, _ := filepath.Glob(filepath.Join(p.dir, "*", "profile-*")); len(profiles) != 0 {
				t.Errorf("profiles %q are left of a browser that was ended", profiles)
			}
			if log := p.log.String(); strings.Contains(log, "hunter2") || strings.Count(log, "\n") != 6 || !strings.HasPrefix(log, "POST /session\nPOST "+browser+"/url\n") {
				t.Errorf("the lease's log is\n%s\nwant six commands and nothing of their bodies", log)
			}
			if err := p.Close(t.Context()); err != nil {
				t.Errorf("closing: %v", err)
			}
			if left := processesOf(p.dir); len(left) != 0 {
				t.Errorf("processes %v are left", left)
			}
		})
	}
}

// screenshot takes one, checks it, and stores it.
func (p *phone) screenshot(t *testing.T, browser string) {
	t.Helper()
	var text string
	p.do(t, http.MethodGet, browser+"/screenshot", nil, &text)
	picture, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	config, err := png.DecodeConfig(bytes.NewReader(picture))
	if err != nil || config.Width < 300 || config.Height < 300 {
		t.Errorf("screenshot of %dx%d, %v, want a picture", config.Width, config.Height, err)
	}
	if err := os.WriteFile(filepath.Join(t.ArtifactDir(), "page.png"), picture, 0o600); err != nil {
		t.Error(err)
	}
}
