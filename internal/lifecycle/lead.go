package lifecycle

import (
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// Leader is which of several replicas schedules and sweeps. It is tidiness, not safety: placements and claims are decided
// on locked rows whoever asks for them; only what the sweep ends is bound to the term.
type Leader struct {
	Holder string    // a replica in one life of its process; "" before the first
	Term   int64     // larger with each change of hands
	Until  time.Time // by the store's clock
}

// Lead makes holder the leader for ttl from now on, when the time of the one before it is over, or makes its own time
// longer. alone says that nobody else can be at this database: then also a time that is not over is that of a process which
// is gone. It reports whether holder leads.
func Lead(l Leader, holder string, ttl time.Duration, alone bool, now time.Time) (Change, Leader, bool) {
	over := !now.Before(l.Until)
	switch {
	case l.Holder == holder && !over:
	case over, alone:
		l.Holder, l.Term = holder, l.Term+1
	default:
		return Change{}, l, false
	}
	l.Until = now.Add(ttl)
	return Change{Leader: &l}, l, true
}

// Resign ends the time of holder in term at once. Somebody else's is left alone.
func Resign(l Leader, holder string, term int64, now time.Time) Change {
	if l.Holder != holder || l.Term != term || !now.Before(l.Until) {
		return Change{}
	}
	l.Until = now
	return Change{Leader: &l}
}

// InTerm refuses what a leader of an older term still wants to end.
func InTerm(l Leader, term int64) error {
	if l.Term != term {
		return phonebooth.Errorf(phonebooth.Conflict, "not_due", "another replica leads now, in term %d; this was for term %d", l.Term, term)
	}
	return nil
}
