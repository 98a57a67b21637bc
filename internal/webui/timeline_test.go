package webui_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/client"
)

// shelf is a pool of so many devices, each with so many tasks in the last hour.
func shelf(now time.Time, devices, each int) *made {
	m := &made{now: now, dice: rand.New(rand.NewPCG(3, 3))}
	for i := range 20 {
		m.hosts = append(m.hosts, phonebooth.Host{
			ID: phonebooth.HostID(m.id("host")), Name: fmt.Sprintf("rack-%02d", i+1), HeardAt: now, PolledAt: now, RegisteredAt: now.Add(-24 * time.Hour),
		})
	}
	for i := range devices {
		m.addDevice(i)
		d := &m.devices[i]
		d.HostID = m.hosts[i%len(m.hosts)].ID
		slot := time.Hour / time.Duration(each)
		for n := range each {
			at := now.Add(-time.Hour + time.Duration(n)*slot)
			m.ran(d, at, slot*7/10)
			m.condition(d, at.Add(slot*7/10), phonebooth.Cleaning, "")
			m.condition(d, at.Add(slot*8/10), phonebooth.Ready, "")
		}
	}
	return m
}

// TestAThousandRowsScrollAndZoom measures the timeline of 1,000 devices and 10,000 tasks: only rows on the screen exist, and
// an answer is as small as a screen is.
func TestAThousandRowsScrollAndZoom(t *testing.T) {
	t.Parallel()
	m := shelf(time.Now(), 1000, 10)
	w := begin(t, m.past)
	began := time.Now()
	line, err := w.client.Timeline(t.Context(), client.TimelineQuery{})
	if err != nil || len(line.Rows) != 100 || line.Devices != 1000 {
		t.Fatalf("%d rows of %d devices, %v", len(line.Rows), line.Devices, err)
	}
	bars := 0
	for _, row := range line.Rows {
		for _, b := range row.Bars {
			bars += b.Count
		}
	}
	t.Logf("an hour of 100 devices, %d attempts, took %v", bars, time.Since(began))
	if bars < 900 || bars > 1000 {
		t.Errorf("the bars of 100 devices stand for %d attempts, want about 1000", bars)
	}

	p := browse(t, w.url, "status of 401")
	p.signIn(w.token)
	p.open("/timeline?span=1h")
	p.sees("1\u202f000 devices")
	p.wait("the first bars", "document.querySelectorAll('.tl-row .tl-bar').length > 50")
	const scroll = `(async () => {
		const box = document.querySelector('.tl-scroll');
		const frames = [];
		let most = 0;
		let last = performance.now();
		for (let i = 0; i < 90; i++) {
			box.scrollTop += 260;
			await new Promise(requestAnimationFrame);
			frames.push(performance.now() - last);
			last = performance.now();
			most = Math.max(most, document.querySelectorAll('.tl-row').length);
		}
		frames.sort((a, b) => a - b);
		return [frames[45], frames[85], most];
	})()`
	got := eval[[]float64](p, scroll)
	t.Logf("scrolling: a frame takes %.0f ms, of a hundred five more than %.0f ms; at most %.0f rows exist", got[0], got[1], got[2])
	if got[2] > 80 {
		t.Errorf("%.0f rows exist at once", got[2])
	}
	p.wait("the bars of where it stopped", `(() => {
		const box = document.querySelector('.tl-scroll').getBoundingClientRect();
		const rows = [...document.querySelectorAll('.tl-row')].filter((r) => { const b = r.getBoundingClientRect(); return b.top > box.top && b.bottom < box.bottom; });
		return rows.length > 3 && rows.every((r) => r.querySelector('.tl-bar'));
	})()`)
	p.open("/timeline?span=7d")
	p.sees("are drawn as one")
	p.wait("bars that stand for several", "[...document.querySelectorAll('.tl-row .tl-bar')].some((b) => b.item.bar.count > 1)")
}
