package sqlstore

import (
	"context"
	"slices"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// The live attempts of the hosts in $2: whoever changes one holds the lock of its host.
const liveOfHosts = "FROM attempts l WHERE l.host_id IN [EACH $2] AND l.state <> 'ended'"

// Load locks and reads in one round trip. Every statement sees what was committed before it began, so those that follow the
// lock of a host see its devices and live attempts as they stay until the end of the transaction.
func (t *tx) Load(ctx context.Context, keys store.Keys) (*store.Rows, error) {
	rows := store.NewRows()
	steps := append(loading(rows, keys, " FOR UPDATE"), clock(t.engine, &t.now))
	if err := t.runner.run(ctx, steps...); err != nil {
		return nil, err
	}
	t.loaded = copyKeys(rows)
	return rows, nil
}

// Rows reads what keys name without locks, as of one moment.
func (s *Store) Rows(ctx context.Context, keys store.Keys) (*store.Rows, error) {
	rows := store.NewRows()
	steps := loading(rows, keys, "")
	if len(steps) == 0 {
		return rows, nil
	}
	return rows, s.engine.read(ctx, steps...)
}

// loading are the steps that read what keys name, and lock it if lock says so: table by table, each by id.
func loading(rows *store.Rows, keys store.Keys, lock string) (steps []step) {
	hosts := idStrings(keys.Hosts, keys.HostDevices, keys.HostAttempts)
	devices, tasks, attempts := idStrings(keys.Devices), idStrings(keys.Tasks), attemptTasks(keys.Attempts)
	whole, busy := idStrings(keys.HostDevices), idStrings(keys.HostAttempts)
	if keys.Leader {
		steps = append(steps, readLeader(&rows.Leader, lock))
	}
	if len(hosts) > 0 {
		steps = append(steps, collect(hostTable, rows.Hosts, func(h phonebooth.Host) phonebooth.HostID { return h.ID },
			"SELECT "+hostTable.list+" FROM hosts h WHERE h.id IN [EACH $1] ORDER BY h.id"+lock, hosts))
	}
	if len(devices)+len(whole)+len(busy) > 0 {
		which, args := deviceIDs(devices, busy, whole)
		steps = append(steps,
			collect(deviceTable, rows.Devices, func(d phonebooth.Device) phonebooth.DeviceID { return d.ID },
				"SELECT "+deviceTable.list+" FROM devices d WHERE d.id IN ["+which+"] ORDER BY d.id"+lock, args...))
	}
	if len(tasks)+len(busy) > 0 {
		which, args := taskIDs(tasks, busy)
		steps = append(steps, collect(taskTable, rows.Tasks, func(v phonebooth.Task) phonebooth.TaskID { return v.ID },
			"SELECT "+taskTable.list+" FROM tasks t WHERE t.id IN ["+which+"] ORDER BY t.id"+lock, args...))
	}
	if len(attempts)+len(busy) > 0 {
		which, args := taskIDs(attempts, busy)
		steps = append(steps, loadAttempts(rows, keys,
			"SELECT "+attemptTable.list+" FROM attempts a WHERE a.task_id IN ["+which+"] ORDER BY a.task_id, a.number"+lock, args))
	}
	if len(devices)+len(whole)+len(busy) > 0 {
		which, args := deviceIDs(devices, busy, whole)
		steps = append(steps, collect(reservationTable, rows.Reservations,
			func(r phonebooth.Reservation) phonebooth.DeviceID { return r.DeviceID },
			"SELECT "+reservationTable.list+" FROM reservations r WHERE r.device_id IN ["+which+"]", args...))
	}
	return append(steps, loadUnlocked(rows, keys)...)
}

// loadAttempts keeps the attempts that were asked for. Their tasks' other attempts are locked with them, which disturbs
// nobody: they ended long ago.
func loadAttempts(rows *store.Rows, keys store.Keys, statement string, args []any) step {
	asked, busy := set(keys.Attempts), set(keys.HostAttempts)
	return step{text: statement, args: args, row: func(read scanner) error {
		a, err := attemptTable.scan(read, nil)
		if asked[a.AttemptKey] || a.Live() && busy[a.HostID] {
			rows.Attempts[a.AttemptKey] = a
		}
		return err
	}}
}

// loadUnlocked reads what is guarded by a constraint, or by the lock of its host.
func loadUnlocked(rows *store.Rows, keys store.Keys) (steps []step) {
	if len(keys.Idempotency) > 0 {
		asked := set(keys.Idempotency)
		var subjects, names []string
		for _, k := range keys.Idempotency {
			subjects, names = append(subjects, k.Subject), append(names, k.Key)
		}
		steps = append(steps, step{
			text: "SELECT t.subject, t.idempotency_key, t.id FROM tasks t" +
				" WHERE t.idempotency_key <> '' AND t.subject IN [EACH $1] AND t.idempotency_key IN [EACH $2]",
			args: []any{unique(subjects), unique(names)}, row: func(read scanner) error {
				var k store.IdempotencyKey
				var id phonebooth.TaskID
				err := read(text(&k.Subject), text(&k.Key), text(&id))
				if asked[k] {
					rows.Idempotency[k] = id
				}
				return err
			},
		})
	}
	if len(keys.Claims) > 0 {
		asked := set(keys.Claims)
		var hosts, claims []string
		for _, k := range keys.Claims {
			hosts, claims = append(hosts, string(k.HostID)), append(claims, k.ClaimID)
		}
		steps = append(steps, step{
			text: "SELECT a.host_id, a.claim_id, a.task_id, a.number FROM attempts a WHERE a.claim_id <> ''" +
				" AND a.host_id IN [EACH $1] AND a.claim_id IN [EACH $2] ORDER BY a.task_id, a.number",
			args: []any{unique(hosts), unique(claims)}, row: func(read scanner) error {
				var k store.ClaimKey
				var a phonebooth.AttemptKey
				err := read(text(&k.HostID), text(&k.ClaimID), text(&a.TaskID), number(&a.Number))
				if asked[k] {
					rows.Claims[k] = append(rows.Claims[k], a)
				}
				return err
			},
		})
	}
	if len(keys.Workflows) > 0 {
		steps = append(steps, collect(workflowTable, rows.Workflows, func(w phonebooth.Workflow) string { return w.Name },
			newestWorkflows+" AND w.name IN [EACH $1]", unique(keys.Workflows)))
	}
	return steps
}

// deviceIDs is a query for the ids in devices, of the devices under live attempts of the hosts in busy, and of all devices
// of the hosts in whole.
func deviceIDs(devices, busy, whole []string) (query string, args []any) {
	if len(busy)+len(whole) == 0 {
		return "EACH $1", []any{devices}
	}
	return "EACH $1 UNION SELECT l.device_id " + liveOfHosts + " UNION SELECT o.id FROM devices o WHERE o.host_id IN [EACH $3]",
		[]any{devices, busy, whole}
}

// taskIDs is a query for the ids in tasks and of the tasks with live attempts on the hosts in busy.
func taskIDs(tasks, busy []string) (query string, args []any) {
	if len(busy) == 0 {
		return "EACH $1", []any{tasks}
	}
	return "EACH $1 UNION SELECT l.task_id " + liveOfHosts, []any{tasks, busy}
}

// collect is a step that reads rows into a map.
func collect[K comparable, T any](t table[T], into map[K]T, by func(T) K, statement string, args ...any) step {
	return step{text: statement, args: args, row: func(read scanner) error {
		v, err := t.scan(read, nil)
		into[by(v)] = v
		return err
	}}
}

func idStrings[T ~string](lists ...[]T) []string {
	out := []string{} // not nil: the drivers make NULL of that
	for _, list := range lists {
		for _, id := range list {
			out = append(out, string(id))
		}
	}
	return unique(out)
}

func attemptTasks(attempts []phonebooth.AttemptKey) []string {
	out := []string{}
	for _, k := range attempts {
		out = append(out, string(k.TaskID))
	}
	return unique(out)
}

func set[K comparable](keys []K) map[K]bool {
	in := make(map[K]bool, len(keys))
	for _, k := range keys {
		in[k] = true
	}
	return in
}

func unique(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// copyKeys remembers which rows there are: the caller may write into the maps that it was given.
func copyKeys(rows *store.Rows) *store.Rows {
	known := store.NewRows()
	for id := range rows.Hosts {
		known.Hosts[id] = phonebooth.Host{}
	}
	for id := range rows.Devices {
		known.Devices[id] = phonebooth.Device{}
	}
	for id := range rows.Tasks {
		known.Tasks[id] = phonebooth.Task{}
	}
	for id := range rows.Attempts {
		known.Attempts[id] = phonebooth.Attempt{}
	}
	return known
}
