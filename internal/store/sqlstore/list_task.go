package sqlstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// So many rows one page looks at, at most.
const (
	look      = 5000 // that lie beside each other, in the order in which they were written
	scattered = 1000 // each of which may have to be fetched from the disk for itself
)

// walk is the way along which a list is read: an index that is in the list's order, and whose rows are those of its terms. All
// else that is asked for is seen on the rows themselves, and is said so that no other index serves.
type walk struct {
	from  string // the tables; where there are two, the first one has the index, and CROSS JOIN keeps SQLite to it
	key   string // the column that orders
	terms where
	few   bool // there cannot be many: no bound is needed
	look  int
}

// taskWalk chooses the way by what is likely to be rare, and leaves in f what the rows have to be asked.
func taskWalk(f *store.TaskFilter) walk {
	w := walk{from: " FROM tasks t", key: "t.seq", look: scattered}
	active := func(s phonebooth.Status) bool { return s.Active() }
	open := func(s phonebooth.Status) bool { return !s.Terminal() }
	pair := slices.IndexFunc(f.Labels, func(l store.Label) bool { return !l.Any })
	switch {
	case len(f.Status) > 0 && !slices.ContainsFunc(f.Status, not(active)):
		w.terms.and("t.id IN [SELECT l.task_id FROM attempts l WHERE l.state <> 'ended']")
		w.few = true
	case pair >= 0:
		w.from, w.key = " FROM task_labels b CROSS JOIN tasks t", "b.seq"
		w.terms.and("b.name = $? AND b.value = $?", f.Labels[pair].Name, f.Labels[pair].Value)
		f.Labels = slices.Delete(slices.Clone(f.Labels), pair, pair+1)
	case f.DeviceID != "":
		w.terms.and("t.device_id <> '' AND t.device_id = $?", string(f.DeviceID))
		f.DeviceID = ""
	case len(f.Status) == 1 && f.Status[0] == phonebooth.Queued:
		w.terms.and("t.status = 'queued'")
		f.Status = nil
	case len(f.Status) > 0 && !slices.ContainsFunc(f.Status, not(open)):
		w.terms.and("t.finished_at = 0")
	case f.Workflow != "":
		w.terms.and("t.workflow <> '' AND t.workflow = $?", f.Workflow)
		f.Workflow = ""
	case len(f.Status) == 1:
		w.terms.and("t.finished_at > 0 AND t.status = $?", string(f.Status[0]))
		f.Status = nil
	default:
		w.look = look
	}
	return w
}

func not[T any](is func(T) bool) func(T) bool { return func(v T) bool { return !is(v) } }

// askRows adds the terms that are seen on the rows, and says whether there are any.
func askRows(w *where, f store.TaskFilter) bool {
	before := len(w.terms)
	if len(f.Status) > 0 {
		w.and("t.status IN [EACH $?]", idStrings(f.Status))
	}
	if f.DeviceID != "" {
		w.and("t.device_id = $?", string(f.DeviceID))
	}
	if f.HostID != "" {
		w.and("t.host_id = $?", string(f.HostID))
	}
	if f.Workflow != "" {
		w.and("t.workflow = $?", f.Workflow)
	}
	if f.WorkflowVersion != 0 {
		w.and("t.workflow_version = $?", int64(f.WorkflowVersion))
	}
	if len(f.DriverTypes) > 0 {
		w.and("t.driver_type IN [EACH $?]", unique(f.DriverTypes))
	}
	for _, l := range f.Labels {
		const value = "(SELECT i.value FROM task_labels i WHERE i.seq = t.seq AND i.name = $?)" // EXISTS would be turned into a join
		if l.Any {
			w.and(value+" IS NOT NULL", l.Name)
		} else {
			w.and(value+" = $?", l.Name, l.Value)
		}
	}
	if f.Text != "" {
		w.and("FIND(t.goal, $?) > 0", lowerASCII(f.Text))
	}
	return len(w.terms) > before
}

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, s)
}

// Tasks lists tasks, the newest submission first: see [store.TaskFilter].
func (s *Store) Tasks(ctx context.Context, f store.TaskFilter) (page store.TaskPage, err error) {
	low, err := s.seqSince(ctx, f.Since)
	if err != nil || low < 0 {
		return page, err
	}
	high, err := s.seqSince(ctx, f.Until)
	if err != nil {
		return page, err
	}
	if high > 0 && !f.Until.IsZero() && (f.Before == 0 || high < f.Before) {
		f.Before = high
	}
	way := taskWalk(&f)
	rows := where{terms: slices.Clone(way.terms.terms), args: slices.Clone(way.terms.args)}
	asked := askRows(&rows, f)
	bounds := way.bounds(f.Before, low)
	floor := int64(0)
	if asked && !way.few && f.Limit > 0 {
		if floor, err = s.floor(ctx, way, bounds); err != nil {
			return page, err
		}
	}
	bounds(&rows)
	if floor > 0 {
		rows.and(way.key+" >= $?", floor)
	}
	if way.key != "t.seq" {
		rows.and("t.seq = " + way.key)
	}
	limit := f.Limit
	if limit > 0 {
		limit++ // to see whether there is another one
	}
	end := rows.end(way.key+" DESC", limit)
	page.Tasks, err = all(ctx, s.engine, scanTask, selectTask+way.from+end, rows.args...)
	switch {
	case f.Limit > 0 && len(page.Tasks) > f.Limit:
		page.Tasks = page.Tasks[:f.Limit]
		page.Next = page.Tasks[f.Limit-1].Seq
	case floor > 0:
		page.Next = floor
	}
	return page, err
}

// bounds are the terms for the part of the way that is above low and below before, where those are given.
func (w walk) bounds(before, low int64) func(*where) {
	return func(t *where) {
		if before > 0 {
			t.and(w.key+" < $?", before)
		}
		if low > 0 {
			t.and(w.key+" >= $?", low)
		}
	}
}

// floor is where a look along the way ends; 0 when the way ends before.
func (s *Store) floor(ctx context.Context, way walk, bounds func(*where)) (int64, error) {
	t := where{terms: slices.Clone(way.terms.terms), args: slices.Clone(way.terms.args)}
	bounds(&t)
	from, _, _ := strings.Cut(way.from, " CROSS JOIN ") // the rows behind the index are not needed
	end := t.end(way.key+" DESC", 1)
	t.args = append(t.args, int64(way.look-1))
	var found []int64
	err := s.engine.read(ctx, every(&found, scanNumber, "SELECT "+way.key+from+end+offset(len(t.args)), t.args...))
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return found[0], nil
}

// seqSince is the Seq of the first task that was submitted at or after a time: 0 for no time, -1 when there is no such task.
func (s *Store) seqSince(ctx context.Context, at time.Time) (int64, error) {
	if at.IsZero() {
		return 0, nil
	}
	var found []int64
	err := s.engine.read(ctx, every(&found, scanNumber,
		"SELECT t.seq FROM tasks t WHERE t.created_at >= $1 ORDER BY t.created_at, t.seq LIMIT 1", micros(at)))
	if err != nil || len(found) == 0 {
		return -1, err
	}
	return found[0], nil
}

func scanNumber(read scanner) (n int64, err error) {
	err = read(number(&n))
	return n, err
}
