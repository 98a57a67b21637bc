package webui_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// axe is the source of axe-core, which .ci/axe installs.
func axe(t *testing.T) string {
	t.Helper()
	script, err := filepath.Abs("../../.ci/axe")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "bash", script).Output()
	if err == nil {
		var source []byte
		if source, err = os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "node_modules/axe-core/axe.min.js")); err == nil {
			return string(source)
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("axe-core is missing: %v", err)
	}
	t.Skipf("axe-core is missing: %v", err)
	return ""
}

// TestNoViewKeepsAnybodyOut looks at every view in both themes, and at the sign-in, with the rules of axe-core.
func TestNoViewKeepsAnybodyOut(t *testing.T) {
	t.Parallel()
	source := axe(t)
	m := rack(time.Now())
	w := begin(t, m.past)
	p := browse(t, w.url)
	look := func(name string) {
		t.Helper()
		p.do(chromedp.Evaluate[chromedp.Void]("if (!window.axe) { " + source + " }"))
		for _, theme := range []string{"light", "dark"} {
			p.do(chromedp.Evaluate[chromedp.Void]("document.documentElement.dataset.theme = " + quoted(theme)))
			options := map[string]string{"light": "{resultTypes: ['violations']}", "dark": "{runOnly: ['color-contrast']}"}[theme]
			found := eval[[]string](p, `axe.run(document, `+options+`).then((r) => r.violations
				.filter((v) => v.impact === 'serious' || v.impact === 'critical')
				.map((v) => v.id + ' (' + v.impact + '): ' + v.help + '\n\t' + v.nodes.slice(0, 4).map((n) => n.html.slice(0, 160) + ' ' + (n.any[0]?.message ?? '')).join('\n\t')))`)
			for _, violation := range found {
				t.Errorf("%s, %s: %s", name, theme, violation)
			}
		}
	}
	p.open("/")
	p.wait("the sign-in", "document.querySelector('#token')")
	look("the sign-in")
	p.signIn(w.token)
	for name, path := range views(m) {
		p.open(path)
		p.settled()
		look(name)
	}
	p.open("/") // where no field takes the key
	p.settled()
	p.do(chromedp.KeyEvent("?"))
	p.wait("the list of keys", "document.querySelector('dialog[open]')")
	look("the list of keys")
	if n := eval[int](p, "axe.getRules().length"); n < 80 {
		t.Error(fmt.Sprint("axe-core knows only ", n, " rules"))
	}
}
