package cli

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNamesStandInTheOrderInWhichAPersonLooks(t *testing.T) {
	t.Parallel()
	want := []string{"", "2", "10", "pixel", "sim", "sim-", "sim-1", "sim-2", "sim-2b", "sim-10", "sim-10-3", "sim-10-20", "sim-99999999999999999999", "sim-100000000000000000000", "é"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortStableFunc(got, naturally)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if naturally("a07", "a7") != 0 || naturally("sim-3", "sim-3") != 0 {
		t.Error("the same number is not the same")
	}
}
