package webui_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/phonebooth-dev/phonebooth"
)

// TestScreenshots writes every view as a picture, light, dark and at the width of a phone, for people to look at: make
// screenshots.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv("PHONEBOOTH_SCREENSHOTS")
	if dir == "" {
		t.Skip("PHONEBOOTH_SCREENSHOTS names no directory")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	m := rack(time.Now())
	w := begin(t, m.past)
	w.keep(m.attempts)
	p := browse(t, w.url)
	p.signIn(w.token)
	for name, path := range views(m) {
		for _, look := range []struct {
			name, theme   string
			width, height int64
			mobile        bool
		}{{"light", "light", 1440, 900, false}, {"dark", "dark", 1440, 900, false}, {"phone", "light", 390, 844, true}} {
			p.do(chromedp.Evaluate[chromedp.Void]("localStorage.setItem('phonebooth.theme', " + quoted(look.theme) + ")"))
			p.do(chromedp.EmulateViewport(look.width, look.height, func(q *emulation.SetDeviceMetricsOverrideParams, _ *emulation.SetTouchEmulationEnabledParams) {
				q.Mobile = look.mobile
			}))
			p.open(path)
			p.settled()
			p.do(chromedp.Sleep(time.Second)) // pictures and bars are drawn behind the answers
			png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name+"-"+look.name+".png"), png, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// views are addresses of every view of a made pool.
func views(m *made) map[string]string {
	running, failed := phonebooth.Task{}, phonebooth.Task{}
	for _, task := range m.tasks {
		switch {
		case task.Status == phonebooth.Dispatched && task.Workflow == nil:
			running = task
		case task.Status == phonebooth.Failed:
			failed = task
		}
	}
	return map[string]string{
		"now": "/", "timeline": "/timeline", "tasks": "/tasks", "task": "/tasks/" + string(running.ID), "task-failed": "/tasks/" + string(failed.ID),
		"devices": "/devices", "device": "/devices/" + string(m.devices[0].ID), "device-quarantined": "/devices/" + string(m.devices[3].ID), "hosts": "/hosts",
		"workflows": "/workflows", "workflow": "/workflows/checkout-smoke", "events": "/events", "submit": "/submit",
	}
}

// settled waits until a view has what it asked for.
func (p *page) settled() {
	p.t.Helper()
	p.wait("the view", "document.querySelector('main h1') && !document.querySelector('[aria-busy=true]') && document.querySelector('.light')?.dataset.state === 'connected'")
}
