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

// TestScreenshots takes a picture of every view at the width of a phone, where none may be wider than the screen. With a
// directory in PHONEBOOTH_SCREENSHOTS they stay there for people to look at, in light and dark too: make screenshots.
func TestScreenshots(t *testing.T) {
	looks := []look{{"phone", "light", 390, 844, true}}
	dir := os.Getenv("PHONEBOOTH_SCREENSHOTS")
	if dir == "" {
		dir = t.TempDir()
	} else {
		looks = append(looks, look{"light", "light", 1440, 900, false}, look{"dark", "dark", 1440, 900, false})
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	m := rack(time.Now())
	w := begin(t, m.past)
	w.keep(m.attempts)
	p := browse(t, w.url)
	p.signIn(w.token)
	for _, l := range looks {
		for name, path := range views(m) {
			p.picture(l, path, filepath.Join(dir, name+"-"+l.name+".png"))
			if wide := eval[int](p, "document.documentElement.scrollWidth - window.innerWidth"); wide > 0 {
				t.Errorf("%s, %s: the page is %d pixels wider than the screen", name, l.name, wide)
			}
		}
	}
}

// look is how a view is looked at.
type look struct {
	name, theme   string
	width, height int64
	mobile        bool
}

// picture writes a view as a picture.
func (p *page) picture(l look, path, file string) {
	p.t.Helper()
	p.do(chromedp.Evaluate[chromedp.Void]("localStorage.setItem('phonebooth.theme', " + quoted(l.theme) + ")"))
	p.do(chromedp.EmulateViewport(l.width, l.height, func(q *emulation.SetDeviceMetricsOverrideParams, _ *emulation.SetTouchEmulationEnabledParams) {
		q.Mobile = l.mobile
	}))
	p.open(path)
	p.settled()
	p.do(chromedp.Sleep(time.Second)) // pictures and bars are drawn behind the answers
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(file, png, 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
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
