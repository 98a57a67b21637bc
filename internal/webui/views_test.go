package webui_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// TestViewsOfALivePool drives the views of tasks and of time on a pool whose devices work. One browser does it all, one thing
// after the other: browsers are the slowest part.
func TestViewsOfALivePool(t *testing.T) {
	t.Parallel()
	a := play(t, 3)
	p := browse(t, a.url, "status of 401", "status of 404", "status of 422")
	p.signIn(a.token)
	for _, c := range []struct {
		name string
		run  func(*testing.T, *alive, *page)
	}{
		{"TheTimelineIsAliveAndWorksByKeys", timelineLives},
		{"AGoalIsWrittenForecastSubmittedAndWatched", goalIsWatched},
		{"ARunningTaskIsCancelledAfterAQuestion", taskIsCancelled},
		{"AttemptsAreToldApart", attemptsApart},
		{"AWorkflowShowsItsStepsAndFiles", workflowShows},
	} {
		going := t.Run(c.name, func(t *testing.T) {
			a.t, p.t = t, t
			c.run(t, a, p)
		})
		a.t, p.t = t, t
		if !going {
			return // devices may be taken, and the page anywhere
		}
	}
}

// fill writes into a field, as hands do, and leaves it.
func (p *page) fill(selector, value string) {
	p.t.Helper()
	p.do(chromedp.Evaluate[chromedp.Void]("(() => { const f = document.querySelector(" + quoted(selector) + "); f.value = " + quoted(value) +
		"; f.dispatchEvent(new Event('input', {bubbles: true})); })()"))
}

func goalIsWatched(t *testing.T, a *alive, p *page) {
	p.open("/submit")
	p.wait("the form", "document.querySelector('.goal-input')")
	p.sees("Write a goal")
	p.do(chromedp.SendKeys("#f-constraints-tags", "pixel-9"))
	p.fill("#f-constraints-driver_type", "sim")
	p.fill(".goal-input", "print \x1b[31mred\x1b[0m <b>bold</b>; sleep 1; print second; sleep 1; print the end")
	p.sees("No device can take it")
	p.fill("#f-constraints-tags", "")
	p.sees("Would start at once")
	p.fill("#f-timeout_s", "soon")
	p.sees("Write a time such as 90s")
	p.fill("#f-timeout_s", "90s")
	p.do(chromedp.Click(".submit-foot button"))

	p.wait("the task's page", "location.pathname.startsWith('/tasks/task_')")
	p.sees("second") // while it runs
	p.wait("a live log", "document.querySelector('.badge')?.textContent === 'dispatched' || document.body.innerText.includes('the end')")
	p.wait("the end", "document.querySelector('.task-head .badge')?.textContent === 'done'")
	p.sees("the end")
	if got := eval[string](p, "document.querySelector('.log .fg-c1')?.textContent"); got != "red" {
		t.Errorf("red is %q", got)
	}
	if lines := eval[string](p, "document.querySelector('.log-lines').innerText"); !strings.Contains(lines, "red <b>bold</b>") {
		t.Errorf("markup in the log is not text: %q", lines)
	}
	p.do(chromedp.SendKeys(".log-search input", "SECOND"))
	p.wait("the match", "document.querySelector('.log-line.current mark')?.textContent === 'second'")
	p.wait("the search in the address", "location.search.includes('q=SECOND')")
	p.sees("1 of 1")

	p.do(chromedp.Click(".task-head a.button"))
	p.wait("the form again", "location.pathname === '/submit' && document.querySelector('.goal-input')")
	if got := eval[string](p, "document.querySelector('.goal-input').value"); !strings.Contains(got, "print second") {
		t.Errorf("submit again gives the goal %q", got)
	}
	if got := eval[string](p, "document.querySelector('#f-timeout_s').value"); got != "90s" {
		t.Errorf("submit again gives the time limit %q", got)
	}
	p.do(chromedp.Evaluate[chromedp.Void]("history.go(-2)"))
	p.wait("the form as it was left", "location.pathname + location.search === '/submit' && document.querySelector('.goal-input')?.value.includes('print second')")
	p.open("/tasks?since=yesterday")
	p.sees("cannot filter by: since")
}

func taskIsCancelled(t *testing.T, a *alive, p *page) {
	running := a.submit("print at work; sleep 600")
	others := []v1.Task{a.submit("sleep 600"), a.submit("sleep 600"), a.submit("print next")}
	waiting := others[2]
	p.open("/tasks/" + waiting.ID)
	p.sees("It waits because")
	p.open("/tasks/" + running.ID)
	p.sees("at work")
	p.do(chromedp.Click(".task-head .danger"))
	p.sees("Cancel this task?")
	p.do(chromedp.Click("dialog[open] .actions button[type=button]"))
	p.wait("no dialog", "!document.querySelector('dialog[open]')")
	if task, err := a.client.Task(t.Context(), running.ID); err != nil || task.CancelRequested {
		t.Fatalf("keeping it cancelled it: %+v, %v", task, err)
	}
	p.do(chromedp.Click(".task-head .danger"), chromedp.Click("dialog[open] button[type=submit]"))
	p.wait("the end", "document.querySelector('.task-head .badge')?.textContent === 'cancelled'")
	p.wait("no more to cancel", "!document.querySelector('.task-head .danger')")
	a.ends(waiting.ID)
	for _, task := range others[:2] {
		if _, err := a.client.Cancel(t.Context(), task.ID); err != nil {
			t.Fatal(err)
		}
	}
}

func attemptsApart(t *testing.T, a *alive, p *page) {
	task := a.submit("print tried; exit 75")
	if task = a.ends(task.ID); task.Status != "failed" {
		t.Fatalf("it is %s", task.Status)
	}
	p.open("/tasks/" + task.ID)
	for _, want := range []string{"Attempt 1 on sim-", "Attempt 3 on sim-", "It failed after 3 attempts"} {
		p.sees(want)
	}
	p.do(chromedp.Click(".attempt:nth-child(2) .attempt-head"))
	p.wait("one attempt", "location.search.includes('attempt=2') && document.querySelectorAll('.log-line').length === 1 && document.querySelector('.log-state').dataset.state === 'ended'")
	p.open("/tasks/task_00000000000000000000000000")
	p.sees("There is no such task")
}

func workflowShows(t *testing.T, a *alive, p *page) {
	source := `version: steps/v1
name: shots
inputs:
  word: {description: what is written, required: true}
env:
  WORD: ${{ inputs.word }}
steps:
  - id: draw
    name: Draw <i>it</i>
    run: |
      echo drawing
      printf '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><script>document.title="hacked"</script><rect width="40" height="20"/></svg>' > "$PHONEBOOTH_ARTIFACTS/picture.svg"
      printf '<h1>%s</h1>' "$WORD" > "$PHONEBOOTH_ARTIFACTS/page.html"
  - id: fail
    run: |
      echo failing; exit 1
  - run: echo never
`
	if _, err := a.client.ApplyWorkflow(t.Context(), "shots", source); err != nil {
		t.Fatal(err)
	}
	p.open("/submit?workflow=shots&driver=sim")
	p.sees("what is written")
	p.do(chromedp.Click(".submit-foot button"))
	p.sees("The workflow requires the input word.")
	p.do(chromedp.SendKeys("#f-workflow-inputs-word", "hello"))
	p.sees("Would start at once")
	p.do(chromedp.Click(".submit-foot button"))
	p.wait("the failure", "document.querySelector('.task-head .badge')?.textContent === 'failed'")
	for _, want := range []string{"Draw <i>it</i>", "<h1>hello</h1>", "draw/picture.svg"} {
		p.sees(want)
	}
	p.wait("the picture", "document.querySelector('.artifact img')?.naturalWidth === 40")
	if title := eval[string](p, "document.title"); strings.Contains(title, "hacked") {
		t.Errorf("a script of a picture ran: %s", title)
	}
	steps := eval[string](p, "[...document.querySelectorAll('.step .sr-only')].map((s) => s.textContent).join(' ')")
	if steps != "done failed skipped" {
		t.Errorf("steps are %q", steps)
	}
}

func timelineLives(t *testing.T, a *alive, p *page) {
	p.open("/timeline")
	p.wait("the rows", "document.querySelectorAll('.tl-row').length === 3")
	var tasks []v1.Task
	for _, goal := range []string{"print <img src=x onerror=alert(1)>", "exit 1", "sleep 300"} {
		tasks = append(tasks, a.submit(goal))
	}
	for _, ending := range []string{"done", "failed", "live"} {
		p.wait(ending, "document.querySelector('.tl-row .tl-bar[data-ending="+ending+"]')")
	}
	at := eval[[]float64](p, "(() => { const b = document.querySelector('.tl-row .tl-bar[data-ending=failed]').getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]; })()")
	p.do(chromedp.MouseEvent(chromedp.MouseMoved, at[0], at[1]))
	p.wait("what the bar tells", "/failed[^]*exit 1[^]*sim-[^]*runner_failed/.test(document.querySelector('.tl-tip:not([hidden])')?.innerText ?? '')")
	p.do(chromedp.Click(".tl-toolbar .segments button:first-child"))
	p.wait("the width in the address", "location.search === '?span=5m'")
	p.do(chromedp.Focus(".tl-scroll"), chromedp.KeyEvent("+"), chromedp.KeyEvent("+"))
	p.wait("a closer look", "/span=1\\d\\ds/.test(location.search)")
	p.wait("a bar for Tab", "document.querySelector('.tl-row .tl-bar[tabindex=\"0\"]')")
	p.do(chromedp.KeyEvent("\ue00f")) // arrow right, from wherever
	eval[any](p, "document.querySelector('.tl-row .tl-bar[data-ending=done]').focus()")
	if said := eval[string](p, "document.activeElement.getAttribute('aria-label')"); !strings.Contains(said, "print <img src=x onerror=alert(1)>. done, on sim-") {
		t.Errorf("the focused bar says %q", said)
	}
	p.do(chromedp.KeyEvent("\r"))
	p.wait("the task", "location.pathname === '/tasks/"+tasks[0].ID+"'")

	p.open("/timeline?view=table")
	p.wait("the table", "document.querySelectorAll('.timeline tbody tr').length >= 3")
	p.sees("print <img src=x onerror=alert(1)>")
	p.do(chromedp.SendKeys(".tl-toolbar input", "sim-2"))
	p.sees("1 of 3 devices")
	if _, err := a.client.Cancel(t.Context(), tasks[2].ID); err != nil {
		t.Fatal(err)
	}
	a.ends(tasks[2].ID)
}
