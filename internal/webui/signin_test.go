package webui_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/phonebooth-dev/phonebooth/internal/server/servertest"
)

func TestAPersonSignsInAndOut(t *testing.T) {
	t.Parallel()
	sys := servertest.Start(t, servertest.Options{}, "")
	p := browse(t, sys.URL())
	p.open("/tasks?status=failed")
	p.wait("the sign-in", "document.querySelector('#token') === document.activeElement")
	if title := eval[string](p, "document.title"); title != "Sign in · Phonebooth" {
		t.Errorf("the title is %q", title)
	}
	p.do(chromedp.SendKeys("#token", "pb_admin_wrong"), chromedp.KeyEvent("\r"))
	p.sees("This is not the admin token of this control plane.")
	p.wait("the field to be ready for another try", "document.activeElement.id === 'token' && document.activeElement.getAttribute('aria-invalid') === 'true'")
	p.do(chromedp.SendKeys("#token", sys.Token()), chromedp.KeyEvent("\r"))
	p.wait("the list that was asked for", "location.pathname === '/tasks' && location.search === '?status=failed' && document.querySelector('h1').textContent === 'Tasks'")
	if eval[string](p, "document.cookie") != "" {
		t.Error("scripts can read the cookie")
	}
	p.open("/hosts") // another page of the same browser
	p.wait("the view", "document.querySelector('h1')?.textContent === 'Hosts'")
	p.do(chromedp.Click("button[aria-label='Sign out']"))
	p.wait("the sign-in", "document.querySelector('#token')")
	p.do(chromedp.Reload())
	p.wait("the sign-in", "document.querySelector('#token') && !document.querySelector('nav.places')")
}

func TestThePageGuardsItself(t *testing.T) {
	t.Parallel()
	sys := servertest.Start(t, servertest.Options{}, "")
	resp, err := http.Get(sys.URL() + "/tasks")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
		if got := resp.Header.Get("Content-Security-Policy"); !strings.Contains(got, part) || strings.Contains(got, "unsafe") {
			t.Errorf("the policy is %q, want %s and nothing unsafe", got, part)
		}
	}
	for _, name := range []string{"<style", "style=", "onclick", "<script>", "http:", "https:"} {
		if strings.Contains(string(body), name) {
			t.Errorf("the page holds %s:\n%s", name, body)
		}
	}
	p := browse(t, sys.URL(), "Content Security Policy", "requires 'TrustedHTML'", "requires 'TrustedScript", "Refused to", "violates")
	p.signIn(sys.Token())
	for name, try := range map[string]string{
		"markup":           "document.body.innerHTML = '<img src=x>'",
		"an inline script": "(() => { const s = document.createElement('script'); s.textContent = 'window.caught = 1'; document.body.append(s); if (!window.caught) throw 1 })()",
		"a foreign script": "new Promise((done, no) => { const s = document.createElement('script'); s.onerror = no; s.onload = done; s.src = 'data:text/javascript,1'; document.body.append(s) })",
		"a foreign call":   "fetch('data:text/plain,x')",
	} {
		if eval[bool](p, "(async () => { try { await ("+try+"); return true } catch { return false } })()") {
			t.Errorf("the page lets %s in", name)
		}
	}
}

func TestAssetsAreKeptForEverAndPacked(t *testing.T) {
	t.Parallel()
	sys := servertest.Start(t, servertest.Options{}, "")
	get := func(path string, header ...string) (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, sys.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Encoding", strings.Join(header, ""))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, string(body)
	}
	_, page := get("/")
	_, after, _ := strings.Cut(page, `src="/assets/`)
	hash, _, _ := strings.Cut(after, "/")
	for name, kind := range map[string]string{"app.js": "text/javascript", "views/now.js": "text/javascript", "all.css": "text/css", "icon.svg": "image/svg+xml"} {
		plain, body := get("/assets/" + hash + "/" + name)
		packed, small := get("/assets/"+hash+"/"+name, "gzip")
		if plain.StatusCode != 200 || !strings.HasPrefix(plain.Header.Get("Content-Type"), kind) || !strings.Contains(plain.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d with %v", name, plain.StatusCode, plain.Header)
		}
		if packed.Header.Get("Content-Encoding") != "gzip" || len(small) >= len(body) || packed.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s packed: %d bytes of %d, with %v", name, len(small), len(body), packed.Header)
		}
	}
	for _, path := range []string{"/assets/" + hash + "/none.js", "/assets/0000/app.js", "/assets/" + hash + "/index.html", "/assets/" + hash + "/views"} {
		if resp, _ := get(path); resp.StatusCode != 404 || strings.Contains(resp.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
}
