package sqlstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// A track is a pair of kinds of event between which one thing about a device or its host goes to and fro.
type track struct {
	owner string // the column that names whose events they are
	kinds string // the condition of the partial index that has them in order
	well  string // a condition of those that say that all is well
}

var tracks = []track{
	{"device_id", "l.kind IN ('device.registered', 'device.changed')", `(l.detail LIKE '%"condition":"ready"%'` +
		` OR l.detail LIKE '%"condition":"leased"%' OR l.detail LIKE '%"condition":"cleaning"%')`},
	{"device_id", "l.kind IN ('device.held', 'device.unheld')", "l.kind = 'device.unheld'"},
	{"host_id", "l.kind IN ('host.silent', 'host.heard')", "l.kind = 'host.heard'"},
	{"host_id", "l.kind IN ('host.draining', 'host.resumed')", "l.kind = 'host.resumed'"},
}

// Timeline reads what happened in a span, folded by the database: see [store.TimelineQuery].
func (s *Store) Timeline(ctx context.Context, q store.TimelineQuery) (store.Timeline, error) {
	var line store.Timeline
	devices, hosts := idStrings(q.Devices), idStrings(q.Hosts)
	from, to, fold := micros(q.From), micros(q.To), max(1, q.Fold.Microseconds())
	steps := []step{
		every(&line.Bars, scanBar, barAt, devices, from),
		every(&line.Bars, scanBar, barsWithin, devices, from, to, fold),
	}
	counts := map[int64]int{}
	var within []phonebooth.Event
	for _, t := range tracks {
		owners := map[string][]string{"device_id": devices, "host_id": hosts}[t.owner]
		steps = append(steps,
			every(&line.Before, scanEvent, t.newestBefore(), owners, from),
			every(&within, scanEvent, t.newestWithin(""), owners, from, to, fold),
			every(&within, scanEvent, t.newestWithin(" AND NOT "+t.well), owners, from, to, fold),
			t.count(counts, owners, from, to, fold))
	}
	if err := s.engine.read(ctx, steps...); err != nil {
		return store.Timeline{}, err
	}
	slices.SortFunc(within, func(a, b phonebooth.Event) int { return cmp.Compare(a.Pos, b.Pos) })
	for _, e := range slices.CompactFunc(within, func(a, b phonebooth.Event) bool { return a.Pos == b.Pos }) {
		line.Within = append(line.Within, store.Change{Event: e, Count: max(1, counts[e.Pos])})
	}
	if err := s.nameBars(ctx, line.Bars); err != nil {
		return store.Timeline{}, err
	}
	return line, nil
}

const (
	barColumns = "SELECT a.device_id, MIN(a.assigned_at), MAX(a.ended_at), a.ending, COUNT(*), MIN(a.task_id), MIN(a.number)," +
		" MIN(a.dispatched_at), MIN(a.reason_code) FROM "
	barsWithin = barColumns + "attempts a WHERE a.device_id IN [EACH $1] AND a.assigned_at >= $2 AND a.assigned_at < $3" +
		" GROUP BY a.device_id, a.assigned_at / $4, a.state, a.ending"
	// Attempts of a device follow one another: of those that began before the span only the newest can reach into it.
	barAt = barColumns + "devices d JOIN attempts a ON a.device_id = d.id WHERE d.id IN [EACH $1]" +
		" AND a.assigned_at = (SELECT MAX(l.assigned_at) FROM attempts l WHERE l.device_id = d.id AND l.assigned_at < $2)" +
		" AND (a.state <> 'ended' OR a.ended_at > $2) GROUP BY a.device_id, a.state, a.ending"
)

func scanBar(read scanner) (store.Bar, error) {
	var b store.Bar
	err := read(text(&b.DeviceID), at(&b.Begin), at(&b.End), text(&b.Ending), number(&b.Count), text(&b.Key.TaskID),
		number(&b.Key.Number), at(&b.Started), text(&b.Code))
	return b, err
}

// newestBefore are the newest events of each owner before $2.
func (t track) newestBefore() string {
	owners := map[string]string{"device_id": "devices", "host_id": "hosts"}[t.owner]
	return "SELECT " + eventTable.list + " FROM events e WHERE e.pos IN [SELECT (SELECT l.pos FROM events l WHERE " + t.kinds +
		" AND l." + t.owner + " = o.id AND l.at < $2 ORDER BY l.at DESC, l.pos DESC LIMIT 1) FROM " + owners + " o WHERE o.id IN [EACH $1]]"
}

// newestWithin are the newest events of each owner and fold among those that more chooses.
func (t track) newestWithin(more string) string {
	return "SELECT " + eventTable.list + " FROM events e WHERE e.pos IN [SELECT MAX(l.pos)" + t.folds(more) + "]"
}

func (t track) folds(more string) string {
	return " FROM events l WHERE " + t.kinds + " AND l." + t.owner + " IN [EACH $1] AND l.at >= $2 AND l.at < $3" + more +
		" GROUP BY l." + t.owner + ", l.at / $4"
}

// count tells how many events each newest one of a fold stands for.
func (t track) count(counts map[int64]int, args ...any) step {
	return step{text: "SELECT MAX(l.pos), COUNT(*)" + t.folds(""), args: args, row: func(read scanner) error {
		var pos int64
		var n int
		err := read(number(&pos), number(&n))
		counts[pos] = n
		return err
	}}
}

// nameBars adds what the tasks of bars ask for, and puts the bars in order.
func (s *Store) nameBars(ctx context.Context, bars []store.Bar) error {
	type ask struct{ goal, workflow string }
	var ids []phonebooth.TaskID
	for _, b := range bars {
		ids = append(ids, b.Key.TaskID)
	}
	asks := map[phonebooth.TaskID]ask{}
	err := s.engine.read(ctx, step{
		text: "SELECT t.id, SUBSTR(t.goal, 1, 200), t.workflow FROM tasks t WHERE t.id IN [EACH $1]", args: []any{idStrings(ids)},
		row: func(read scanner) error {
			var id phonebooth.TaskID
			var a ask
			err := read(text(&id), text(&a.goal), text(&a.workflow))
			asks[id] = a
			return err
		},
	})
	for i, b := range bars {
		bars[i].Goal, bars[i].Workflow = asks[b.Key.TaskID].goal, asks[b.Key.TaskID].workflow
	}
	slices.SortFunc(bars, func(a, b store.Bar) int {
		return cmp.Or(cmp.Compare(a.DeviceID, b.DeviceID), a.Begin.Compare(b.Begin), cmp.Compare(a.Ending, b.Ending))
	})
	return err
}
