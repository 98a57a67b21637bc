package server_test

import (
	"testing"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/server/servertest"
)

func TestArtifactsThatAreOnTheirWayAreCountedUntilTheyHaveComeOrWillNot(t *testing.T) {
	servertest.Each(t, func(t *testing.T, sys *servertest.System) {
		host := sys.Host(t, "h1", servertest.Phone("p1"))
		task := sys.Submit(t, v1.TaskRequest{Goal: "x"})
		lease := host.ClaimOne(t).LeaseID
		puts := func(name string) {
			t.Helper()
			if err := host.PutArtifact(t, lease, name, name); err != nil {
				t.Errorf("put %q: %v", name, err)
			}
		}
		coming := func(want int) {
			t.Helper()
			list, err := sys.Client(t).ArtifactList(t.Context(), task.ID, 0)
			if err != nil || list.Coming != want {
				t.Errorf("%d of %d, %v; want %d to come", list.Coming, len(list.Artifacts), err, want)
			}
		}
		puts("a")
		coming(0)
		for range 2 { // a repeat changes nothing
			host.MustReport(t, v1.ReportRequest{LeaseID: lease, Outcome: "done", Artifacts: 4})
			coming(3)
		}
		puts("b")
		coming(2)
		puts("c")
		coming(1)
		if err := host.Agent(t).EndLog(t.Context(), lease, v1.Artifacts, 0); err != nil {
			t.Fatal(err)
		}
		coming(0)
	})
}
