package sqlstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// selectTask adds to a task when the lease of its live attempt expires.
var selectTask = "SELECT " + taskTable.list + ", COALESCE((SELECT l.expires_at FROM attempts l" +
	" WHERE l.task_id = t.id AND l.state <> 'ended'), 0)"

func scanTask(read scanner) (phonebooth.Task, error) {
	return taskTable.scan(read, func(t *phonebooth.Task) []any { return []any{at(&t.LeaseExpiresAt)} })
}

// Task is one task.
func (s *Store) Task(ctx context.Context, id phonebooth.TaskID) (phonebooth.Task, error) {
	return one(ctx, s.engine, scanTask, selectTask+" FROM tasks t WHERE t.id = $1", string(id))
}

// Attempts lists a task's attempts by number.
func (s *Store) Attempts(ctx context.Context, task phonebooth.TaskID) ([]phonebooth.Attempt, error) {
	return all(ctx, s.engine, scanAttempt, selectAttempts+" WHERE a.task_id = $1 ORDER BY a.number", string(task))
}

var selectAttempts = "SELECT " + attemptTable.list + " FROM attempts a"

func scanAttempt(read scanner) (phonebooth.Attempt, error) { return attemptTable.scan(read, nil) }

// AttemptOfLease finds an attempt by its lease, also an ended one.
func (s *Store) AttemptOfLease(ctx context.Context, lease phonebooth.LeaseID) (phonebooth.Attempt, error) {
	return one(ctx, s.engine, scanAttempt, selectAttempts+" WHERE a.lease_id = $1", string(lease))
}

// AttemptOnDevice is the live attempt that holds a device.
func (s *Store) AttemptOnDevice(ctx context.Context, device phonebooth.DeviceID) (phonebooth.Attempt, error) {
	return one(ctx, s.engine, scanAttempt, selectAttempts+
		" JOIN reservations r ON r.task_id = a.task_id AND r.number = a.number WHERE r.device_id = $1 AND a.state <> 'ended'", string(device))
}

// LiveAttempts lists the live attempts of a host, the oldest assignment first.
func (s *Store) LiveAttempts(ctx context.Context, host phonebooth.HostID) ([]phonebooth.Attempt, error) {
	return all(ctx, s.engine, scanAttempt, selectAttempts+
		" WHERE a.host_id = $1 AND a.state <> 'ended' ORDER BY a.assigned_at, a.task_id", string(host))
}

// one reads the one row of a statement, or says [store.ErrNotFound].
func one[T any](ctx context.Context, e engine, scan func(scanner) (T, error), statement string, args ...any) (T, error) {
	got, err := all(ctx, e, scan, statement, args...)
	if err == nil && len(got) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		var zero T
		return zero, err
	}
	return got[0], nil
}

func all[T any](ctx context.Context, e engine, scan func(scanner) (T, error), statement string, args ...any) ([]T, error) {
	var got []T
	err := e.read(ctx, every(&got, scan, statement, args...))
	return got, err
}

// every is a step that appends each row to out.
func every[T any](out *[]T, scan func(scanner) (T, error), statement string, args ...any) step {
	return step{text: statement, args: args, row: func(read scanner) error {
		v, err := scan(read)
		*out = append(*out, v)
		return err
	}}
}

// where collects the terms of a filter and their arguments.
type where struct {
	terms []string
	args  []any
}

// and adds a term, in which $? stands for the next argument.
func (w *where) and(term string, args ...any) {
	for _, arg := range args {
		w.args = append(w.args, arg)
		term = strings.Replace(term, "$?", fmt.Sprintf("$%d", len(w.args)), 1)
	}
	w.terms = append(w.terms, term)
}

// end makes the end of a statement, and completes the arguments. limit 0 is none. It is called once, after the last and.
func (w *where) end(order string, limit int) string {
	var b strings.Builder
	if len(w.terms) > 0 {
		b.WriteString(" WHERE " + strings.Join(w.terms, " AND "))
	}
	b.WriteString(" ORDER BY " + order)
	if limit > 0 {
		w.args = append(w.args, int64(limit))
		fmt.Fprintf(&b, " LIMIT $%d", len(w.args))
	}
	return b.String()
}

func offset(arg int) string { return fmt.Sprintf(" OFFSET $%d", arg) }
