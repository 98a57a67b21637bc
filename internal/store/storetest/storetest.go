// Package storetest holds what every store must do, as one suite, and what must be true of every database at rest, as a
// checker.
//
// A store runs the suite from its own tests, which gives it fresh empty databases; each is closed by the suite:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) store.Store { ... })
//	}
//
// A test of anything above the store ends with
//
//	storetest.CheckInvariants(t, st)
//
// It is for tests only. The suite's tests run in parallel, each on a database of its own.
package storetest

import (
	"testing"

	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// Open gives a test an empty database. The suite closes it.
type Open func(t *testing.T) store.Store

// Run runs the suite.
func Run(t *testing.T, open Open) {
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			st := open(t)
			t.Cleanup(func() {
				if err := st.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
			test.run(t, st)
		})
	}
}

var tests = []struct {
	name string
	run  func(*testing.T, store.Store)
}{
	{"RowsComeBackAsWritten", rowsComeBack},
	{"LeastRowsComeBackAsWritten", leastRowsComeBack},
	{"C42_TimesKeepMicrosecondsInAnyZone", timesKeepMicroseconds},
	{"C42_TimesCompareAsTimes", timesCompare},
	{"LoadGivesWhatTheKeysName", loadNamed},
	{"LoadGivesWhatHostsHold", loadOfHosts},
	{"LoadSeesWhatWasPlacedWhileItWaited", loadWaits},
	{"LoadGivesClaimsKeysAndWorkflows", loadGuarded},
	{"SaveInsertsWhatLoadDidNotGive", saveInserts},
	{"AnErrorRollsBack", errorRollsBack},
	{"APanicRollsBack", panicRollsBack},
	{"ACancelledContextWritesNothing", cancelledWritesNothing},
	{"S5.2_OneReservationADevice", oneReservation},
	{"OneLiveAttemptATask", oneLiveAttempt},
	{"OneTaskAnIdempotencyKey", oneTaskAKey},
	{"OneAttemptALease", oneAttemptALease},
	{"OneEventAPosition", oneEventAPosition},
	{"ADeviceChangesHandsInOneChange", changesHands},
	{"TheClockIsNeverBelowTheHeadAndGoesOn", clockAboveHead},
	{"TheClockMovesWithinATransaction", clockMoves},
	{"NothingThere", nothingThere},
	{"TasksAreFiltered", tasksFiltered},
	{"TasksTellWhenTheirLeaseExpires", leaseExpiry},
	{"AttemptsAreFound", attemptsFound},
	{"PoolIsListed", poolListed},
	{"WorkflowsAreListed", workflowsListed},
	{"EventsAreFiltered", eventsFiltered},
	{"TaskListsAreWhatFiltersMean", taskListsAreWhatFiltersMean},
	{"APageIsABoundedLook", aPageIsABoundedLook},
	{"EventPages", eventPages},
	{"PrunedEventsAreKnown", prunedEventsAreKnown},
	{"OverviewOfNothing", overviewOfNothing},
	{"OverviewOfThePool", overviewOfThePool},
	{"OverviewOfThePast", overviewOfThePast},
	{"TimelineHasBars", timelineBars},
	{"TimelineHasChanges", timelineChanges},
	{"SnapshotHoldsWhatIsQueued", snapshotHolds},
	{"SnapshotIsOneState", snapshotIsOneState},
	{"DueTellsSortsApart", dueSorts},
	{"TheLeaderComesBackAsWritten", leaderComesBack},
	{"RowsAreReadWithoutLocks", rowsWithoutLocks},
	{"TokensAreSpentOnce", tokensSpentOnce},
	{"PruneTakesOldThingsInBatches", pruneBatches},
	{"C43_ConcurrentWritersTakeTurns", writersTakeTurns},
	{"InvariantsHoldOfAGoodDatabase", goodDatabase},
}
