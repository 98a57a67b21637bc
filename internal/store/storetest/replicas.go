package storetest

import (
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

func leaderComesBack(t *testing.T, st store.Store) {
	same(t, "the leader of an empty database", must[lifecycle.Leader](t)(st.Leader(t.Context())), lifecycle.Leader{})
	want := lifecycle.Leader{Holder: "a", Term: 3, Until: time.UnixMicro(1_700_000_000_000_001).UTC()}
	mustPut(t, st, lifecycle.Change{Leader: &want})
	same(t, "the leader", must[lifecycle.Leader](t)(st.Leader(t.Context())), want)
	same(t, "the locked leader", load(t, st, store.Keys{Leader: true}).Leader, want)
	same(t, "what was not asked for", load(t, st, store.Keys{}).Leader, lifecycle.Leader{})
}

func rowsWithoutLocks(t *testing.T, st store.Store) {
	pool(t, st)
	p := placed(task("t1", 1), device("d1", "h1"))
	mustPut(t, st, p)
	keys := store.Keys{
		Hosts: []phonebooth.HostID{"h1"}, Devices: []phonebooth.DeviceID{"d1", "d2"}, Tasks: []phonebooth.TaskID{"t1", "t7"},
		Attempts: []phonebooth.AttemptKey{p.Attempts[0].AttemptKey},
	}
	err := st.Write(t.Context(), func(tx store.Tx) error {
		locked, err := tx.Load(t.Context(), keys)
		if err != nil {
			return err
		}
		rows, err := st.Rows(t.Context(), keys) // it does not wait for us
		same(t, "rows", rows, locked)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
