package agent

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/agent/mask"
	"github.com/phonebooth-dev/phonebooth/internal/agent/spool"
	"github.com/phonebooth-dev/phonebooth/runner"
)

// settle keeps the report of a lease and sends it. What is left of its logs and artifacts goes first, for a bounded time.
func (a *Agent) settle(life context.Context, l *lease, report phonebooth.Report) {
	l.sending.finish()
	a.awaitSending(life, l)
	a.log.Info("attempt ended", append(l.task(), "outcome", report.Outcome, "code", report.Failure.Code)...)
	p := &parcel{lease: l, request: a.requestOf(l.LeaseID, report)}
	a.keep(p)
	a.deliveries.Go(func() { a.deliver(life, p) })
}

// awaitSending lets what is left of an attempt's logs and artifacts go before its report, for a bounded time.
func (a *Agent) awaitSending(life context.Context, l *lease) {
	l.sending.await(life, a.timing.of30(3*time.Second))
}

// requestOf is the wire form of a report, without secrets and without what is filled in when it is sent.
func (a *Agent) requestOf(leaseID string, r phonebooth.Report) v1.ReportRequest {
	return v1.ReportRequest{
		LeaseID: leaseID, Outcome: string(r.Outcome), Code: runner.Clean(codeWithout(a.mask, r.Failure.Code), 63),
		Message: runner.Clean(a.mask.Text(r.Failure.Message), runner.MaxMessageBytes),
		Result:  a.mask.JSON(r.Result), Runner: r.Runner, Fence: r.Fence,
	}
}

// codeWithout is a code that holds no secret: one that does is no word that anybody knows.
func codeWithout(m *mask.Mask, code string) string {
	if m.Text(code) != code {
		return "runner_failed"
	}
	return code
}

// parcel is one report on its way.
type parcel struct {
	lease    *lease
	request  v1.ReportRequest
	kept     bool
	answered chan struct{} // closed at the first answer of whatever kind; nil when nobody waits for it
}

// keep puts a report into the spool. Without room it is sent all the same: only a crash before its answer could lose it.
func (a *Agent) keep(p *parcel) {
	if p.kept {
		return
	}
	body, err := json.Marshal(p.request)
	if err == nil {
		err = a.spool.Put(p.request.LeaseID, body)
	}
	if errors.Is(err, spool.ErrReported) {
		a.log.Warn("the lease was reported before; the first report stands", p.lease.task()...)
		err = a.takeFirst(p)
	}
	if err != nil {
		a.noRoom("spool", err)
		return
	}
	p.kept = true
	p.lease.settled(a, func() { p.lease.spooled = true })
}

// takeFirst puts the report that is in the spool in the place of p's.
func (a *Agent) takeFirst(p *parcel) error {
	for _, pending := range a.spool.Pending() {
		if pending.LeaseID == p.request.LeaseID {
			p.request = v1.ReportRequest{}
			return json.Unmarshal(pending.Body, &p.request)
		}
	}
	return nil // it was answered meanwhile, and this one will be refused
}

// deliver sends a report until it is answered for good, and then lets the lease go.
func (a *Agent) deliver(life context.Context, p *parcel) {
	failing := false
	for {
		refused, err := a.send(life, p)
		if p.answered != nil && answered(err) {
			close(p.answered)
			p.answered = nil
		}
		if err == nil || refused {
			a.delivered(life, p, err)
			return
		}
		if p.lighten(err) {
			a.log.Warn("the control plane cannot take the result; the report goes without it", append(p.lease.task(), "err", err)...)
			continue
		}
		a.heed(err)
		a.noteFailing(life, &failing, "report", err)
		if !sleep(life, a.timing.pause()) {
			return // it stays in the spool for the next life
		}
		a.keep(p)
	}
}

// lighten leaves the result out of a report that was refused for what it holds: how the attempt ended must arrive. It reports
// whether that makes a difference.
func (p *parcel) lighten(err error) bool {
	refusal, ok := errors.AsType[*phonebooth.Error](err)
	if !ok || p.request.Result == nil {
		return false
	}
	switch refusal.Kind {
	case phonebooth.Malformed, phonebooth.Invalid, phonebooth.TooLarge:
		p.request.Result = nil
		p.request.Message = runner.Clean("the result could not be taken: "+refusal.Message+"\n"+p.request.Message, runner.MaxMessageBytes)
		return true
	}
	return false
}

// send makes one call. refused says that the answer is final all the same: the control plane will never want this report.
func (a *Agent) send(life context.Context, p *parcel) (refused bool, err error) {
	ctx, cancel := context.WithTimeout(life, a.timing.callTimeout())
	defer cancel()
	request := p.request
	request.Incarnation = a.incarnation
	seq, condition, reason := a.pool.word(p.lease.key(), p.lease.LeaseID)
	request.Seq, request.Condition, request.Reason = seq, runner.Clean(string(condition), 63), runner.Clean(reason, 1024)
	request.LogsFollow, request.Artifacts = p.lease.sending.follow(), p.lease.sending.coming()
	_, err = a.server.Report(ctx, request)
	switch phonebooth.CodeOf(err) {
	// Unknown or not claimed: a database was restored, or the task's time was up.
	case "report_conflict", "lease_lost", "lease_unknown", "not_claimed":
		return true, err
	}
	return false, err
}

// delivered forgets a report that was answered, and everything of its lease that is not needed for the device's sake.
func (a *Agent) delivered(life context.Context, p *parcel, refusal error) {
	l := p.lease
	if refusal != nil {
		a.log.Warn("report refused", append(l.task(), "err", refusal)...)
	}
	a.leases.drop(l.LeaseID)
	if err := a.spool.Ack(l.LeaseID); err != nil {
		a.log.Error("cannot remove a report from the spool", append(l.task(), "err", err)...)
	}
	l.settled(a, func() { l.spooled = true })
	if l.hands {
		a.pool.release(l.key(), l.LeaseID, refusal == nil)
	}
	a.removePlace(life, l)
}

// removePlace removes what an attempt left on the disk, when its logs and artifacts are up or given up. If the agent
// ends before that, the next life goes on with them.
func (a *Agent) removePlace(life context.Context, l *lease) {
	l.sending.await(life, logPatience+a.timing.callTimeout())
	if life.Err() == nil && l.dir != "" {
		if err := os.RemoveAll(l.dir); err != nil {
			a.log.Error("cannot remove a working directory", append(l.task(), "err", err)...)
		}
	}
}
