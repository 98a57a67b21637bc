package control_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/blob"
	"github.com/phonebooth-dev/phonebooth/internal/control"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// ended is a database that knows one attempt, which ended some time ago.
type ended struct {
	store.Store
	ago time.Duration
}

func (e ended) Now(context.Context) (time.Time, error) { return time.Unix(1_800_000_000, 0), nil }

func (e ended) AttemptOfLease(ctx context.Context, _ phonebooth.LeaseID) (phonebooth.Attempt, error) {
	now, err := e.Now(ctx)
	return phonebooth.Attempt{
		AttemptKey: phonebooth.AttemptKey{TaskID: "task_1", Number: 1}, HostID: "host_1", State: phonebooth.AttemptEnded, EndedAt: now.Add(-e.ago),
	}, err
}

func TestFilesAreAcceptedUntilTenMinutesAfterTheEnd(t *testing.T) {
	t.Parallel()
	for ago, code := range map[time.Duration]string{time.Minute: "", 10 * time.Minute: "", 10*time.Minute + 1: "lease_lost"} {
		blobs, err := blob.Open(t.TempDir(), blob.Options{})
		if err != nil {
			t.Fatal(err)
		}
		st := ended{ago: ago}
		c := control.New(st, ledger.New(st, ledger.Options{}), blobs, control.Options{})
		for _, name := range []string{v1.LogRunner, v1.LogDevice, v1.LogEvents} {
			if _, err := c.AppendLog(t.Context(), "host_1", "lease_1", name, 0, []byte("x")); phonebooth.CodeOf(err) != code {
				t.Errorf("log %s %v after the end: %v, want %q", name, ago, err, code)
			}
		}
		a := blob.Artifact{Name: "a", Bytes: 1, SHA256: "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}
		if err := c.PutArtifact(t.Context(), "host_1", "lease_1", a, strings.NewReader("x")); phonebooth.CodeOf(err) != code {
			t.Errorf("an artifact %v after the end: %v, want %q", ago, err, code)
		}
		if err := blobs.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAFullDiskIsSaidToBeFull(t *testing.T) {
	t.Parallel()
	blobs, err := blob.Open(t.TempDir(), blob.Options{Room: func(int64) bool { return false }})
	if err != nil {
		t.Fatal(err)
	}
	defer blobs.Close()
	st := ended{}
	c := control.New(st, ledger.New(st, ledger.Options{}), blobs, control.Options{})
	err = c.PutArtifact(t.Context(), "host_1", "lease_1", blob.Artifact{Name: "a", Bytes: 1}, strings.NewReader("x"))
	if phonebooth.CodeOf(err) != "store_full" {
		t.Errorf("got %v, want store_full", err)
	}
}

func (e ended) Task(context.Context, phonebooth.TaskID) (phonebooth.Task, error) {
	return phonebooth.Task{ID: "task_1", Attempt: 1}, nil
}

func (e ended) Attempts(ctx context.Context, _ phonebooth.TaskID) ([]phonebooth.Attempt, error) {
	a, err := e.AttemptOfLease(ctx, "lease_1")
	return []phonebooth.Attempt{a}, err
}

// hosted also knows the host of the attempt.
type hosted struct {
	ended
	host phonebooth.Host
}

func (h hosted) Host(context.Context, phonebooth.HostID) (phonebooth.Host, error) { return h.host, nil }

func TestOfASilentHostNoArtifactsAreOnTheirWay(t *testing.T) {
	t.Parallel()
	when := time.Unix(1_800_000_000, 0)
	for name, c := range map[string]struct {
		host phonebooth.Host
		want int
	}{"heard": {want: 2}, "silent": {phonebooth.Host{SilentSince: when}, 0}, "removed": {phonebooth.Host{RemovedAt: when}, 0}} {
		blobs, err := blob.Open(t.TempDir(), blob.Options{})
		if err != nil {
			t.Fatal(err)
		}
		st := hosted{ended{ago: time.Minute}, c.host}
		of := control.New(st, ledger.New(st, ledger.Options{}), blobs, control.Options{})
		if err := of.ExpectArtifacts(t.Context(), "host_1", "lease_1", 2); err != nil {
			t.Fatal(err)
		}
		if got, err := of.Coming(t.Context(), "task_1", 0, nil); err != nil || got != c.want {
			t.Errorf("%s: %d, %v; want %d to come", name, got, err, c.want)
		}
		if err := blobs.Close(); err != nil {
			t.Error(err)
		}
	}
}
