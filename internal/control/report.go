package control

import (
	"context"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/lifecycle"
)

// Report takes a host's word on how an attempt ended (S8), or a give-back (S7.5). The refusals report_conflict and
// lease_lost are final; a late report is kept with its attempt all the same.
func (c *Control) Report(ctx context.Context, by Caller, host phonebooth.HostID, incarnation int64, lease phonebooth.LeaseID, report phonebooth.Report, word lifecycle.DeviceWord) (phonebooth.Task, error) {
	if !report.Outcome.Valid() {
		return phonebooth.Task{}, phonebooth.Errorf(phonebooth.Invalid, "invalid",
			"the outcome must be done, failed, cancelled or abandoned").With("pointer", "/outcome")
	}
	var finished lifecycle.Finished
	v := verb("report", by)
	var key phonebooth.AttemptKey
	v.Keys = leaseKeys(lease, &key)
	v.Decide = func(view ledger.View) (lifecycle.Change, error) {
		l, ok := view.Live(key)
		if !ok {
			return lifecycle.Change{}, ledger.ErrMoved
		}
		change, f, err := lifecycle.Finish(l, host, incarnation, report, word, c.opts.Policy, view.Now)
		finished = f
		return change, err
	}
	if err := c.ledger.Do(ctx, v); err != nil {
		return phonebooth.Task{}, answer(err, nil)
	}
	if finished.Refusal != nil {
		return finished.Task, finished.Refusal
	}
	return finished.Task, nil
}
