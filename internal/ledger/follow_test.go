package ledger_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// TestC45_AFollowerByCursorMissesNothing lets several callers write through two ledgers, as two replicas do (on SQLite one:
// it has no replicas), while a reader follows by position.
func TestC45_AFollowerByCursorMissesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		const callers, each = 6, 8
		st := open(t, dsn)
		ledgers := []*ledger.Ledger{start(t, st, ledger.Options{MaxBatch: 4})}
		if dsn[:8] == "postgres" {
			ledgers = append(ledgers, start(t, open(t, dsn), ledger.Options{MaxBatch: 4}))
		}
		var work sync.WaitGroup
		for c := range callers {
			l := ledgers[c%len(ledgers)]
			work.Go(func() {
				for i := range each {
					id := phonebooth.TaskID(fmt.Sprintf("t%d-%d", c, i))
					for _, v := range []ledger.Verb{submit(id, "", 1000), cancelTask(id)} {
						if err := l.Do(t.Context(), v); err != nil {
							t.Errorf("%s %s: %v", v.Name, id, err)
						}
					}
				}
			})
		}
		ctx, done := context.WithCancel(t.Context())
		go func() {
			work.Wait()
			done()
		}()
		seen := follow(t, ctx, st)
		if want := callers * each * 2; len(seen) != want {
			t.Errorf("saw %d events, want %d", len(seen), want)
		}
		submitted := map[phonebooth.TaskID]bool{}
		for i, e := range seen {
			if e.Pos != int64(i+1) {
				t.Fatalf("event %d has position %d: missed or seen twice", i+1, e.Pos)
			}
			if i > 0 && e.At.Before(seen[i-1].At) {
				t.Errorf("event %d is of %v, before the one at its side at %v", e.Pos, e.At, seen[i-1].At)
			}
			switch e.Kind {
			case phonebooth.TaskSubmitted:
				submitted[e.TaskID] = true
			case phonebooth.TaskCancelled:
				if !submitted[e.TaskID] {
					t.Errorf("%s ended before it was submitted", e.TaskID)
				}
			}
		}
	})
}

// follow reads by cursor, in small pages, until ctx has ended and nothing is left.
func follow(t *testing.T, ctx context.Context, st store.Store) (seen []phonebooth.Event) {
	t.Helper()
	for {
		last := ctx.Err() != nil
		var after int64
		if len(seen) > 0 {
			after = seen[len(seen)-1].Pos
		}
		page, err := st.Events(t.Context(), store.EventFilter{After: after, Limit: 7})
		must(t, err)
		seen = append(seen, page...)
		if last && len(page) == 0 {
			return seen
		}
	}
}
