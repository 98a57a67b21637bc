//go:build linux

package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/bridge/webdriver/webdrivertest"
)

// webPool is the configuration of a host with phones that Chromium plays, and the example runner for them.
const webPool = `
bridges:
  webdriver: {devices: "2", width: "360", height: "640", pixel_ratio: "2"}
runners:
  - name: page
    drivers: [webdriver]
    argv: [python3, %q]
`

func TestAPageTestOnAPhoneThatChromiumPlays(t *testing.T) {
	t.Parallel()
	webdrivertest.Need(t)
	if _, err := exec.LookPath("python3"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("python3 is missing; make install")
		}
		t.Skip("python3 is missing")
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><meta name="viewport" content="width=device-width"><title>mobile: %v</title>`, strings.Contains(r.UserAgent(), "Mobile"))
	}))
	defer site.Close()
	example, err := filepath.Abs("../../examples/runners/webdriver/page.py")
	if err != nil {
		t.Fatal(err)
	}
	b := newBooth(t)
	short, err := os.MkdirTemp("", "wd") // a browser has sockets there, whose paths are bounded
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	b.env = append(b.env, "TMPDIR="+short)
	p := b.server(t)
	p.agent(t, "h1", 0, "--config", b.write(t, "web.yaml", fmt.Sprintf(webPool, example)))
	phones := p.waitDevices(t, 2)
	if phones[0].DriverType != "webdriver" || !slices.Contains(phones[0].Tags, "browser:chromium") {
		t.Errorf("device %+v, want a phone that Chromium plays", phones[0])
	}

	id := p.submit(t, v1.TaskRequest{Goal: site.URL, Constraints: v1.Constraints{DriverType: "webdriver"}})
	task := p.waitStatus(t, id, "done")
	var result struct{ Title string }
	if err := json.Unmarshal(task.Result, &result); err != nil || result.Title != "mobile: true" {
		t.Errorf("result %s, %v, want the title that the page has on a phone", task.Result, err)
	}
	eventually(t, "the screenshot", func() bool {
		list, err := p.client.Artifacts(t.Context(), id, 0)
		return err == nil && len(list) == 1
	})
	list, err := p.client.Artifacts(t.Context(), id, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := list[0]; got.Name != "page.png" || got.ContentType != "image/png" {
		t.Errorf("artifact %+v, want page.png", got)
	}
	file, err := p.client.Artifact(t.Context(), id, list[0].Attempt, list[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	picture, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	if config, err := png.DecodeConfig(bytes.NewReader(picture)); err != nil || config.Width != 720 || config.Height != 1280 {
		t.Errorf("screenshot %dx%d, %v, want all of the phone's 720x1280", config.Width, config.Height, err)
	}
	p.waitDevices(t, 2) // clean again
	if left, _ := filepath.Glob(filepath.Join(short, "phonebooth-web-*")); len(left) != 0 {
		t.Errorf("%q are left of the lease", left)
	}
}
