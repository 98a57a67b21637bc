package webui_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/phonebooth-dev/phonebooth"
)

// crowd is a thousand devices, four hundred of them busy, and ten thousand tasks.
func crowd(now time.Time) *made {
	m := &made{now: now, dice: rand.New(rand.NewPCG(1, 2))}
	for i := range 10 {
		m.hosts = append(m.hosts, phonebooth.Host{
			ID: phonebooth.HostID(m.id("host")), Name: fmt.Sprintf("rack-%02d", i+1), HeardAt: now, PolledAt: now, RegisteredAt: now.Add(-time.Hour),
		})
	}
	for i := range 1000 {
		m.addDevice(i)
		d := &m.devices[i]
		d.HostID, d.Name = m.hosts[i/100].ID, fmt.Sprintf("%s-%03d", phones[i%len(phones)].name, i)
		if i%5 < 2 {
			m.runs(d, now.Add(-time.Duration(m.dice.IntN(300))*time.Second), i)
		}
	}
	for i := range 8000 {
		m.ran(&m.devices[i%1000], now.Add(-time.Duration(m.dice.IntN(3*3600))*time.Second), 10*time.Second)
	}
	for i := range 1600 {
		t := phonebooth.Task{ID: phonebooth.TaskID(m.id("task")), Status: phonebooth.Queued, CreatedAt: now.Add(-time.Duration(i) * time.Second)}
		t.Goal, t.MaxAttempts, t.Timeout, t.Constraints = goals[i%len(goals)], 3, time.Minute, phonebooth.Constraints{Tags: []string{fmt.Sprint("nobody-", i%9)}}
		m.begun(t)
		m.tasks = append(m.tasks, t)
	}
	return m
}

func TestAThousandDevicesAndTenThousandTasks(t *testing.T) {
	t.Parallel()
	m := crowd(time.Now())
	w := begin(t, m.past)
	p := browse(t, w.url)
	p.signIn(w.token)
	p.wait("the wall", "document.querySelectorAll('.tile').length === 1000")

	// As somebody who comes for the first time, but for the sign-in: nothing is kept. The browser's own process is there already.
	p.do(clearCache())
	p.open("/")
	p.wait("the wall", "document.querySelectorAll('.tile').length === 1000 && document.querySelectorAll('.lane').length === 9")
	shown := "performance.getEntriesByType('resource').filter((e) => e.startTime < performance.getEntriesByName('wall-shown')[0].startTime)"
	requests := eval[int](p, shown+".length") + 1
	bytes := eval[int](p, shown+".reduce((sum, e) => sum + e.transferSize, performance.getEntriesByType('navigation')[0].transferSize)")
	took := eval[float64](p, "performance.getEntriesByName('wall-shown')[0]?.startTime ?? -1")
	server := eval[float64](p, "(() => { const e = performance.getEntriesByType('resource').find((e) => e.name.endsWith('/v1/overview')); return e.responseEnd - e.requestStart })()")
	t.Logf("the first view of 1,000 devices and 10,000 tasks: %d bytes in %d answers, %.0f ms, of which the overview %.0f ms", bytes, requests, took, server)
	if bytes > 100<<10 {
		t.Errorf("the first view takes %d bytes, want less than 100 KiB", bytes)
	}
	if took < 0 || took > 5000 {
		t.Errorf("the first view takes %.0f ms", took)
	}
	if n := eval[int](p, "Number(document.querySelectorAll('.stat-value')[1].textContent.replace(/\\D/g, ''))"); n != 1600 {
		t.Errorf("%d are queued, want 1600", n)
	}

	// Lists page, and filter by what is in the address.
	p.open("/tasks?status=done")
	p.wait("a page", "document.querySelectorAll('tbody tr').length === 50")
	p.do(chromedp.Click(".list-foot button"))
	p.wait("another page", "document.querySelectorAll('tbody tr').length === 100")
	if n := eval[int](p, "new Set([...document.querySelectorAll('tbody .row-link')].map((a) => a.href)).size"); n != 100 {
		t.Errorf("%d different tasks on two pages", n)
	}
	p.do(chromedp.Click("[data-value=queued]"), chromedp.Click("[data-value=done]"))
	p.wait("the queued ones alone", "location.search === '?status=queued' && document.querySelectorAll('tbody tr').length === 50 && document.querySelector('tbody').innerText.includes('nobody-') && !document.querySelector('tbody').innerText.includes('done')")
	p.open("/devices?text=pixel-8-010")
	p.wait("one device", "document.querySelectorAll('tbody tr').length === 1 && document.querySelector('tbody').innerText.includes('pixel-8-010')")
	p.open("/events?kind=task.*")
	p.wait("events", "document.querySelectorAll('tbody tr').length === 100")
	p.do(chromedp.Click(".list-foot button"))
	p.wait("older ones", "document.querySelectorAll('tbody tr').length === 200")
}
