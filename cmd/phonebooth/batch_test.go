//go:build linux

package main_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
	"github.com/phonebooth-dev/phonebooth/internal/store/postgrestest"
)

// A control plane that is killed among batches has each of them whole or not at all, and the same commands again store each
// once.
func TestC20_ABatchIsWholeOrNotThereWhateverDies(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string]func(testing.TB) []string{
		"SQLite":     func(testing.TB) []string { return nil },
		"PostgreSQL": func(t testing.TB) []string { return []string{"--database", postgrestest.DSN(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBooth(t)
			p := b.server(t, flags(t)...)
			const batches, size = 12, 40
			submit := func(i int) ([]v1.Task, error) {
				reqs := make([]v1.TaskRequest, size)
				for k := range reqs {
					reqs[k] = v1.TaskRequest{Goal: fmt.Sprint("task ", k), Labels: map[string]string{"batch": fmt.Sprint(i)}}
				}
				once, err := client.New(p.url, p.token, client.Options{Patience: -1})
				if err != nil {
					return nil, err
				}
				return once.SubmitBatch(t.Context(), fmt.Sprint("key-", i), reqs)
			}
			stored := func(i int) int {
				list, err := p.client.Tasks(t.Context(), client.TaskQuery{Labels: []string{fmt.Sprint("batch=", i)}, Limit: 500})
				if err != nil {
					t.Fatal(err)
				}
				return len(list.Tasks)
			}
			var all sync.WaitGroup
			first := make(chan struct{}, batches)
			answered := make([][]v1.Task, batches)
			for i := range batches {
				all.Go(func() {
					answered[i], _ = submit(i) // most get no answer
					first <- struct{}{}
				})
			}
			<-first
			p.kill()
			all.Wait()
			p.restart(t)
			for i := range batches {
				if n := stored(i); n != size && (n != 0 || answered[i] != nil) {
					t.Errorf("of batch %d there are %d tasks, want all, or none if it was not answered", i, n)
				}
			}
			for i := range batches {
				again, err := submit(i)
				if err != nil || len(again) != size || answered[i] != nil && again[size-1].ID != answered[i][size-1].ID {
					t.Errorf("batch %d again: %d tasks, %v; want the same ones", i, len(again), err)
				}
				if n := stored(i); n != size {
					t.Errorf("of batch %d there are %d tasks, want %d", i, n, size)
				}
			}
		})
	}
}

func TestC20_AFileWhoseAnswerIsLostIsSubmittedOnce(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	p := b.server(t)
	way := cutting(t, p.url, p.kill)
	submit := []string{"submit", "--server", way, "--file", b.write(t, "tasks.yaml", "[{goal: one}, {goal: two}]")}
	o := b.try(t, submit...)
	_, key, known := strings.Cut(o.stderr, "--idempotency-key ")
	if o.code != 5 || !known {
		t.Fatalf("without a control plane submit exits %d, want 5 and how to repeat: %s", o.code, o.stderr)
	}
	p.restart(t)
	ids := strings.Fields(b.run(t, append(submit, "--idempotency-key", strings.Fields(key)[0])...))
	list, err := p.client.Tasks(t.Context(), client.TaskQuery{})
	if err != nil || len(list.Tasks) != 2 || len(ids) != 2 || list.Tasks[0].ID != ids[1] || list.Tasks[1].ID != ids[0] {
		t.Errorf("tasks %+v, %v, want %v alone", list.Tasks, err, ids)
	}
}
