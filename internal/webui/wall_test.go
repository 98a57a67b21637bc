package webui_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/server/servertest"
)

// tile is an expression for the tile of a device on the wall.
func tile(name string) string {
	return "[...document.querySelectorAll('.tile')].find((t) => t.querySelector('.tile-name').textContent === " + quoted(name) + ")"
}

func TestTheWallIsAlive(t *testing.T) {
	t.Parallel()
	sys := servertest.Start(t, servertest.Options{}, "")
	host := sys.Host(t, "rack", servertest.Phone("p1"), servertest.Phone("p2"))
	p := browse(t, sys.URL())
	p.signIn(sys.Token())
	p.wait("two idle tiles", "document.querySelectorAll('.tile[data-tone=ok]').length === 2")
	eval[bool](p, "window.same = true")

	first := sys.Submit(t, v1.TaskRequest{Goal: "open Settings", Constraints: v1.Constraints{DeviceID: host.DeviceID("p1")}})
	a := host.ClaimOne(t)
	p.wait("p1 to be busy with it", tile("p1")+"?.dataset.tone === 'busy' && "+tile("p1")+".innerText.includes('open Settings')")
	sys.Submit(t, v1.TaskRequest{Goal: "wait", Constraints: v1.Constraints{DeviceID: host.DeviceID("p1")}})
	p.wait("a lane with one task", "document.querySelector('.lane')?.innerText.includes('p1')")
	host.MustReport(t, v1.ReportRequest{LeaseID: a.LeaseID, Outcome: "failed", Code: "runner_failed", Message: "it was too dark", Condition: "cleaning"})
	p.wait("the failure", "document.querySelector('.failure')?.innerText.includes('runner_failed')")
	p.wait("p1 in cleaning", tile("p1")+".innerText.includes('cleaning')")
	if href := eval[string](p, "document.querySelector('.failure').getAttribute('href')"); href != "/tasks/"+first.ID {
		t.Errorf("the failure leads to %s", href)
	}
	host.MustInventory(t)

	// A device's page does what the API does, and the wall shows it at once.
	p.do(chromedp.Click("a[href='/devices/" + host.DeviceID("p2") + "']"))
	p.wait("the device's page", "document.querySelector('h1')?.textContent === 'p2'")
	p.do(chromedp.Evaluate[chromedp.Void]("[...document.querySelectorAll('button')].find((b) => b.textContent === 'Cordon').click()"))
	p.wait("the question", "document.querySelector('dialog[open] input')")
	p.do(chromedp.SendKeys("dialog[open] input", "its <b>screen</b> is broken"), chromedp.KeyEvent("\r"))
	p.sees("Cordoned: its <b>screen</b> is broken")
	if d := sys.Device(t, host.DeviceID("p2")); d.Hold != "cordoned" || d.HoldReason != "its <b>screen</b> is broken" {
		t.Errorf("the device is %s: %s", d.Hold, d.HoldReason)
	}
	p.do(chromedp.NavigateBack())
	p.wait("the wall", tile("p2")+"?.innerText.includes('cordoned')")
	if _, err := sys.Client(t).Uncordon(t.Context(), host.DeviceID("p2")); err != nil {
		t.Fatal(err)
	}
	p.wait("p2 to be idle", tile("p2")+".innerText.includes('idle')")
	if !eval[bool](p, "window.same === true") {
		t.Error("the page was loaded anew on the way")
	}
}

func TestThePageOutlivesItsServer(t *testing.T) {
	t.Parallel()
	sys := servertest.Start(t, servertest.Options{}, "")
	host := sys.Host(t, "rack", servertest.Phone("p1"))
	p := browse(t, sys.URL(), "ERR_", "Failed to load resource")
	p.signIn(sys.Token())
	p.wait("the wall", tile("p1"))
	p.wait("the other views to be here too", "performance.getEntriesByName('views-here').length > 0")
	eval[bool](p, "window.same = true")
	sys.Stop()
	p.sees("Not connected: the server does not answer.")
	p.wait("it to be told to all", "document.querySelector('[role=status]').textContent.includes('Not connected') && document.querySelector('.light').innerText.includes('not connected')")
	p.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('a[href=\"/hosts\"]').click()")) // a view that cannot be read now
	sys.Restart(t)
	p.wait("the end of the banner", "document.querySelector('.banner[data-tone=warn]').hidden && document.querySelector('.light').innerText.includes('live')")
	p.wait("the view to be there by itself", "document.querySelector('h1')?.textContent === 'Hosts' && document.querySelector('tbody').innerText.includes('rack')")
	p.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('a.place[href=\"/\"]').click()"))
	host.MustInventory(t)
	sys.Submit(t, v1.TaskRequest{Goal: "after the restart"})
	host.ClaimOne(t)
	p.wait("what happened since", tile("p1")+"?.innerText.includes('after the restart')")
	if !eval[bool](p, "window.same === true") {
		t.Error("the page was loaded anew")
	}
}
