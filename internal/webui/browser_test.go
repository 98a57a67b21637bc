package webui_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long the page may take for what a test waits for: far more than it needs.
const patience = 45 * time.Second

// page is a browser of its own with one page of the dashboard.
type page struct {
	t   *testing.T
	ctx context.Context
	url string

	mu   sync.Mutex
	said []string // complaints on the console
}

// browse starts a browser. At the end of the test its console must be clean, but for what allowed names, and for the refusal
// that the page asks for a sign-in upon.
func browse(t *testing.T, url string, allowed ...string) *page {
	t.Helper()
	if _, err := exec.LookPath("chromium"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("chromium is missing; .ci/install brings it")
		}
		t.Skip("chromium is missing")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath("chromium"), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("lang", "en-US"), chromedp.WindowSize(1440, 900),
	)
	ctx, endBrowser := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, end := chromedp.NewContext(ctx)
	allowed = append(allowed, "status of 401")
	p := &page{t: t, ctx: ctx, url: url}
	if err := chromedp.Listen(ctx, p.hear); err != nil {
		t.Fatalf("start chromium: %v", err)
	}
	t.Cleanup(func() {
		end()
		endBrowser()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, line := range p.said {
			if !containsAny(line, allowed) {
				t.Errorf("on the console: %s", line)
			}
		}
	})
	return p
}

func containsAny(line string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(line, part) {
			return true
		}
	}
	return false
}

// hear notes what the browser tells.
func (p *page) hear(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" {
			p.said = append(p.said, fmt.Sprint(e.Type, " ", argsOf(e.Args)))
		}
	case *runtime.EventExceptionThrown:
		p.said = append(p.said, "exception "+e.ExceptionDetails.Text+" "+argsOf([]*runtime.RemoteObject{e.ExceptionDetails.Exception}))
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" || e.Entry.Level == "warning" {
			p.said = append(p.said, fmt.Sprint(e.Entry.Source, " ", e.Entry.Text, " ", e.Entry.URL))
		}
	}
}

func argsOf(args []*runtime.RemoteObject) string {
	var words []string
	for _, a := range args {
		if a != nil {
			words = append(words, strings.Trim(string(a.Value)+" "+a.Description, " "))
		}
	}
	return strings.Join(words, " ")
}

// do runs actions; one that fails ends the test.
func (p *page) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.ctx, patience)
	defer stop()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.t.Fatalf("in the browser: %v\n%s", err, p.text())
	}
}

// open goes to an address of the dashboard.
func (p *page) open(path string) {
	p.t.Helper()
	p.do(chromedp.Navigate(p.url + path))
}

// eval is the value of an expression in the page.
func eval[T any](p *page, expression string) T {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.ctx, patience)
	defer stop()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("evaluate %s: %v", expression, err)
	}
	return v
}

// wait polls until an expression is true in the page, also over a move to another page.
func (p *page) wait(what, expression string) {
	p.t.Helper()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; {
		v, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		if err == nil && v {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("waited in vain for %s (%v); the page says:\n%s", what, err, p.text())
		}
		<-tick.C
	}
}

// sees waits until the page shows a text.
func (p *page) sees(text string) {
	p.t.Helper()
	p.wait(fmt.Sprintf("the text %q", text), "document.body.innerText.includes("+quoted(text)+")")
}

// text is what the page shows.
func (p *page) text() string {
	s, err := chromedp.Run(p.ctx, chromedp.Evaluate[string]("location.href + '\\n' + document.body.innerText"))
	if err != nil {
		return err.Error()
	}
	return s
}

// quoted is s as a JavaScript string.
func quoted(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always can
	}
	return string(text)
}

// signIn signs in by the form, as a person does.
func (p *page) signIn(token string) {
	p.t.Helper()
	p.open("/")
	p.wait("the sign-in", "document.querySelector('#token')")
	p.do(chromedp.SendKeys("#token", token), chromedp.KeyEvent("\r"))
	p.wait("the dashboard", "document.querySelector('nav.places')")
}

// clearCache makes the browser ask for everything again.
func clearCache() chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, network.ClearBrowserCache, cdp.Empty{})
		return err
	})
}
