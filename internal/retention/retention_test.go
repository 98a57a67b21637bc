package retention

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/blob"
)

// tasks is a database: when each task ended.
type tasks struct {
	now   time.Time
	clock func() time.Time // nil: it is always now
	ended map[phonebooth.TaskID]time.Time
	away  error
}

func (s *tasks) Now(context.Context) (time.Time, error) {
	if s.clock != nil {
		return s.clock(), s.away
	}
	return s.now, s.away
}

func (s *tasks) FinishedAt(_ context.Context, ids []phonebooth.TaskID) (map[phonebooth.TaskID]time.Time, error) {
	found := map[phonebooth.TaskID]time.Time{}
	for _, id := range ids {
		if at, ok := s.ended[id]; ok {
			found[id] = at
		}
	}
	return found, s.away
}

// world is a database and a directory.
type world struct {
	tasks
	dir   string
	blobs *blob.Store
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{tasks: tasks{now: time.Now(), ended: map[phonebooth.TaskID]time.Time{}}, dir: t.TempDir()}
	blobs, err := blob.Open(w.dir, blob.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.blobs = blobs
	t.Cleanup(func() { _ = blobs.Close() })
	return w
}

// task wrote so many bytes and ended that long ago; 0: it still runs.
func (w *world) task(t *testing.T, id string, bytes int, ago time.Duration) {
	t.Helper()
	if _, err := w.blobs.Append(t.Context(), id+"/1.runner", 0, []byte(strings.Repeat("x", bytes))); err != nil {
		t.Fatal(err)
	}
	w.ended[phonebooth.TaskID(id)] = time.Time{}
	if ago > 0 {
		w.ended[phonebooth.TaskID(id)] = w.now.Add(-ago)
	}
}

func (w *world) pass(t *testing.T, opts Options) error {
	t.Helper()
	return New(w, w.blobs, opts).pass(t.Context())
}

// left are the tasks that still have bytes, and gone those that have a note instead.
func (w *world) left(t *testing.T) (left, gone string) {
	t.Helper()
	var with, without []string
	for h, err := range w.blobs.Holdings() {
		switch {
		case err != nil:
			t.Fatal(err)
		case h.Bytes > 0:
			with = append(with, h.First)
		case h.Expired:
			without = append(without, h.First)
		}
	}
	slices.Sort(with)
	slices.Sort(without)
	return strings.Join(with, " "), strings.Join(without, " ")
}

func (w *world) want(t *testing.T, left, gone string) {
	t.Helper()
	if gotLeft, gotGone := w.left(t); gotLeft != left || gotGone != gone {
		t.Errorf("left are %q and gone %q, want %q and %q", gotLeft, gotGone, left, gone)
	}
}

func TestBytesGoByAge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.task(t, "old", 10, 48*time.Hour)
	w.task(t, "young", 10, 23*time.Hour)
	w.task(t, "running", 10, 0)
	if err := w.pass(t, Options{}); err != nil {
		t.Fatal(err)
	}
	w.want(t, "old running young", "")
	if err := w.pass(t, Options{Age: 24 * time.Hour}); err != nil {
		t.Fatal(err)
	}
	w.want(t, "running young", "old")
	if e, _, err := w.blobs.Expired("old"); err != nil || !e.At.Equal(w.now) || e.LogBytes != 10 {
		t.Errorf("the note says %+v, %v", e, err)
	}
}

func TestBytesGoBySizeTheOldestEndFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.task(t, "first", 100, 4*time.Hour)
	w.task(t, "second", 100, 3*time.Hour)
	w.task(t, "third", 100, 2*time.Hour)
	w.task(t, "just-ended", 100, guard-time.Second)
	w.task(t, "running", 100, 0)
	for _, c := range []struct {
		limit      int64
		left, gone string
	}{
		{500, "first just-ended running second third", ""},
		{499, "just-ended running second third", "first"},
		{301, "just-ended running third", "first second"},
		{1, "just-ended running", "first second third"},
	} {
		if err := w.pass(t, Options{Bytes: c.limit}); err != nil {
			t.Fatal(err)
		}
		w.want(t, c.left, c.gone)
	}
}

// TestAKilledPassIsFinished leaves some of a task's bytes behind its note, as a kill between the two does.
func TestAKilledPassIsFinished(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.task(t, "half", 10, time.Hour)
	if err := os.WriteFile(filepath.Join(w.dir, "half", ".expired"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.pass(t, Options{}); err != nil {
		t.Fatal(err)
	}
	w.want(t, "", "half")
}

// TestBytesOfTasksThatAreGone are what is left when the sweep dies between the rows and the bytes. A database that does not
// know the tasks, because it is the wrong one, costs nothing that would not have gone anyway.
func TestBytesOfTasksThatAreGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.task(t, "left-behind", 10, 0)
	w.task(t, "unknown", 10, 0)
	clear(w.ended)
	old := time.Now().Add(-31 * 24 * time.Hour)
	if err := os.Chtimes(filepath.Join(w.dir, "left-behind"), old, old); err != nil {
		t.Fatal(err)
	}
	if err := w.pass(t, Options{Age: time.Hour, Bytes: 1}); err != nil {
		t.Fatal(err)
	}
	w.want(t, "unknown", "")
}

func TestADatabaseThatIsAwayCostsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.task(t, "old", 10, 48*time.Hour)
	w.away = errors.New("away")
	if err := w.pass(t, Options{Age: time.Hour}); !errors.Is(err, w.away) {
		t.Errorf("got %v", err)
	}
	w.want(t, "old", "")
}

// torn is a directory in which something cannot be read.
type torn struct{ *blob.Store }

var errTorn = errors.New("permission denied")

func (s torn) Holdings() iter.Seq2[blob.Holding, error] {
	return func(yield func(blob.Holding, error) bool) {
		if !yield(blob.Holding{First: "torn"}, errTorn) {
			return
		}
		s.Store.Holdings()(yield)
	}
}

func TestWhatCannotBeReadHoldsUpNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.task(t, "old", 10, 48*time.Hour)
	if err := New(w, torn{w.blobs}, Options{Age: time.Hour}).pass(t.Context()); !errors.Is(err, errTorn) {
		t.Errorf("got %v, want to be told", err)
	}
	w.want(t, "", "old")
}

func TestRunComesAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.task(t, "old", 10, 0)
	synctest.Test(t, func(t *testing.T) {
		w.clock, w.ended["old"] = time.Now, time.Now().Add(-30*time.Minute)
		ctx, stop := context.WithCancel(t.Context())
		ran := make(chan error)
		go func() { ran <- New(w, w.blobs, Options{Age: time.Hour}).Run(ctx) }()
		synctest.Wait()
		w.want(t, "old", "")
		time.Sleep(31 * time.Minute)
		synctest.Wait()
		w.want(t, "", "old")
		stop()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
}
