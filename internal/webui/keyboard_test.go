package webui_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/server/servertest"
)

func TestEverythingIsReachedByTheKeyboard(t *testing.T) {
	t.Parallel()
	sys := servertest.Start(t, servertest.Options{}, "")
	sys.Host(t, "rack", servertest.Phone("p1"), servertest.Phone("p2"))
	for _, goal := range []string{"first", "second", "third"} {
		sys.Submit(t, v1.TaskRequest{Goal: goal, Constraints: v1.Constraints{Tags: []string{"nobody"}}})
	}
	p := browse(t, sys.URL())
	p.signIn(sys.Token())
	p.wait("the wall", tile("p1"))
	keys := func(keys string) { t.Helper(); p.do(chromedp.KeyEvent(keys)) }
	focused := func(what, expression string) {
		t.Helper()
		p.wait("the focus on "+what, "((e) => "+expression+")(document.activeElement)")
	}
	p.open("/")
	p.wait("the wall", tile("p1"))
	keys(kb.Tab)
	focused("the way past the navigation", "e.textContent === 'Skip to the content' && e.getBoundingClientRect().top >= 0")
	keys("\r")
	focused("the content", "e.id === 'main'")

	keys("gt")
	p.wait("the tasks", "location.pathname === '/tasks' && document.querySelectorAll('[data-row]').length === 3")
	focused("the head of the view", "e.tagName === 'H1'")
	keys("j")
	focused("the first row", "e.textContent === 'third'")
	keys("jj")
	focused("the last row", "e.textContent === 'first'")
	keys("k\r")
	p.wait("the task", "document.body.innerText.includes('second') && location.pathname.startsWith('/tasks/task_')")

	keys("/")
	focused("the search", "e.getAttribute('role') === 'combobox'")
	p.do(chromedp.Evaluate[chromedp.Void]("document.activeElement.value = ''"), chromedp.KeyEvent("p2")) // the protocol writes the key that was taken
	p.wait("what was found", "document.querySelector('#found [role=option]')?.innerText.includes('p2')")
	keys(kb.ArrowDown)
	p.wait("the choice", "document.activeElement.getAttribute('aria-activedescendant') === document.querySelector('#found [aria-selected=true]')?.id")
	keys("\r")
	p.wait("the device", "location.pathname.startsWith('/devices/device_') && document.querySelector('h1')?.textContent === 'p2'")

	keys("?")
	p.wait("the list of keys", "document.querySelector('dialog[open]')?.innerText.includes('Submit a task')")
	p.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('dialog[open] input[type=checkbox]').click()"))
	keys(kb.Escape)
	p.wait("the list to be closed", "!document.querySelector('dialog[open]')")
	keys("gn")
	if path := eval[string](p, "new Promise((done) => setTimeout(() => done(location.pathname), 300))"); path == "/" {
		t.Error("shortcuts work that were turned off")
	}
}
