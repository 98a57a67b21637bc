package webui_test

import (
	"testing"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/server/servertest"
)

func TestTextOfOthersStaysText(t *testing.T) {
	t.Parallel()
	sys := servertest.Start(t, servertest.Options{}, "")
	const markup = `<img src=x onerror="window.caught=1"><script>window.caught=2</script>`
	const rtl = "abc\u202egnp.exe" // reversed to the eye
	d := servertest.Phone("p1")
	d.Name, d.Tags, d.Attributes = markup, []string{rtl, `"><svg/onload=window.caught=3>`}, map[string]string{markup: "\x1b[2J\x1b]0;x\x07" + rtl}
	d.DriverType = "sim"
	other := servertest.Phone("p2")
	other.Condition, other.Reason = `unwell"><b>`, markup
	host := sys.Host(t, "rack", d, other)
	task := sys.Submit(t, v1.TaskRequest{Goal: markup + rtl, Labels: map[string]string{"a": markup[:60]}, Constraints: v1.Constraints{DeviceID: host.DeviceID("p1")}})
	a := host.ClaimOne(t)
	if _, err := host.AppendLog(t, a.LeaseID, 0, markup+"\n\x1b]8;;javascript:window.caught=4\x07link\x1b]8;;\x07\n\x1b[31m"+rtl+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := host.PutArtifact(t, a.LeaseID, `<b>"x".html`, markup); err != nil {
		t.Fatal(err)
	}
	waiting := sys.Submit(t, v1.TaskRequest{Goal: "wait", Constraints: v1.Constraints{Tags: []string{markup}}})
	p := browse(t, sys.URL(), "status of 404", "status of 422")
	p.signIn(sys.Token())
	for path, shown := range map[string]string{
		"/": markup, "/devices": markup, "/devices/" + host.DeviceID("p1"): markup, "/devices/" + host.DeviceID("p2"): markup, "/tasks": markup,
		"/tasks/" + task.ID: `<script>window.caught=2</script>`, "/tasks/" + waiting.ID: "wait", "/timeline": "<img", "/events": "task.dispatched", "/submit?from=" + task.ID: "Submit",
		"/tasks?text=%3Cimg": markup, "/workflows/%3Cb%3E": "There is no such workflow", "/nowhere/%3Cb%3E": "There is no such page",
	} {
		p.open(path)
		p.sees(shown)
		p.settled()
		if eval[bool](p, `/[\u202a-\u202e\u2066-\u2069]/.test(document.body.innerText + document.title)`) {
			t.Errorf("%s: text of others turns around what stands behind it", path)
		}
		if n := eval[int](p, `document.querySelectorAll('img:not([alt=""]), script:not([src^="/assets/"]), b, [onerror], [onload], a[href^="javascript:"]').length`); n != 0 {
			t.Errorf("%s: %d elements that somebody smuggled in", path, n)
		}
	}
	if eval[bool](p, "Boolean(window.caught)") {
		t.Error("a script of others ran")
	}
}
