package control

import (
	"context"
	"errors"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// LogPosition is a place in the logs of a task.
type LogPosition struct {
	Attempt int
	Offset  int64 // counts what the runner wrote
}

// LogRequest says which logs are to be followed. At is where to begin: an attempt that is not there yet is waited for, and
// its zero value is the newest attempt.
type LogRequest struct {
	Name  string
	At    LogPosition
	Only  int  // this attempt alone; 0: all from At on, until the task has ended
	Wait  bool // for what is not there yet; else what is there now is all
	Bytes int  // of one piece at most
}

// LogNews is what a [LogFollower] tells.
type LogNews int

// What there is to tell of a log, and which fields of a LogPiece belong to it.
const (
	LogBegins LogNews = iota + 1 // an attempt's log, at Offset
	LogBytes                     // Data, from Offset on
	LogGap                       // Left bytes from Offset on were left out
	LogCloses                    // the attempt has ended and its log has no more than Offset; Missing says why it may have had
	LogEnds                      // there will be no more; Status is the task's
)

// LogPiece is one piece of news.
type LogPiece struct {
	News    LogNews
	Attempt int
	Offset  int64
	Data    []byte // good until the next call
	Left    int64
	Missing string // "": it is whole
	Status  phonebooth.Status
	Next    LogPosition // where to go on after it
}

// LogFollower tells of the logs of one task as they grow, attempt after attempt. It is for one goroutine.
type LogFollower struct {
	control *Control
	task    phonebooth.TaskID
	request LogRequest
	watch   *watch
	piece   []byte

	at    LogPosition
	begun bool // at's attempt was told of
	moves int  // of the task, as far as the rows below know
	known bool // they were read
	row   phonebooth.Task
	last  phonebooth.Attempt // the one that is followed; zero: it is not there yet
}

// FollowLog begins to follow; the caller closes the follower. An attempt that there cannot be is refused.
func (c *Control) FollowLog(ctx context.Context, id phonebooth.TaskID, r LogRequest) (*LogFollower, error) {
	if r.At.Attempt == 0 {
		r.At.Attempt = r.Only
	}
	f := &LogFollower{control: c, task: id, request: r, at: r.At, watch: c.watches.join(id), piece: make([]byte, r.Bytes)}
	err := f.look(ctx)
	if err == nil {
		err = c.logExpired(id)
	}
	if err == nil && !f.possible() {
		err = hasAttempt(f.row, max(f.at.Attempt, r.Only))
	}
	if err == nil {
		err = c.logExpired(id)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// possible reports whether there is the attempt to begin with, or may be. What follows the newest may be waited for also when
// it will never come: one who was told of the last attempt's end goes on there.
func (f *LogFollower) possible() bool {
	if f.at.Attempt <= f.row.Attempt+1 && f.request.Only <= f.row.Attempt {
		return true
	}
	return f.request.Wait && !f.row.Status.Terminal() && max(f.at.Attempt, f.request.Only) <= f.row.MaxAttempts
}

// Close lets the follower go.
func (f *LogFollower) Close() { f.control.watches.leave(f.task, f.watch) }

// ErrNoNews is what Next returns instead of waiting for longer than it was allowed to.
var ErrNoNews = errors.New("no news")

// Next waits for news, for d at most. What another control plane did to the task is seen when d has passed.
func (f *LogFollower) Next(ctx context.Context, d time.Duration) (LogPiece, error) {
	timeout := time.NewTimer(d)
	defer timeout.Stop()
	for {
		woken, moves := f.watch.state()
		if !f.known || moves != f.moves {
			f.moves = moves
			if err := f.look(ctx); err != nil {
				return LogPiece{}, err
			}
		}
		piece, again, err := f.news(ctx)
		if err != nil {
			return LogPiece{}, err
		}
		if piece.News != 0 {
			f.at = piece.Next
			return piece, nil
		}
		var soon <-chan time.Time
		if again > 0 {
			soon = time.After(again)
		}
		select {
		case <-woken:
		case <-soon:
		case <-timeout.C:
			f.known = false
			return LogPiece{}, ErrNoNews
		case <-ctx.Done():
			return LogPiece{}, ctx.Err()
		}
	}
}

// look reads the rows.
func (f *LogFollower) look(ctx context.Context) error {
	row, err := f.control.Task(ctx, f.task)
	if err != nil {
		return err
	}
	f.row, f.known = row, true
	if f.at.Attempt == 0 {
		f.at.Attempt = max(row.Attempt, 1)
	}
	return f.lookAt(ctx)
}

// lookAt reads the attempt that is followed.
func (f *LogFollower) lookAt(ctx context.Context) error {
	f.last = phonebooth.Attempt{}
	if f.at.Attempt > f.row.Attempt {
		return nil
	}
	attempts, err := f.control.store.Attempts(ctx, f.task)
	if err != nil {
		return answer(err, unknownTask())
	}
	for _, a := range attempts {
		if a.Number == f.at.Attempt {
			f.last = a
		}
	}
	return nil
}

// news is what can be told now. Without any, again says when to look again although nothing woke us; 0: not.
func (f *LogFollower) news(ctx context.Context) (p LogPiece, again time.Duration, err error) {
	if only := f.request.Only; only > 0 && f.at.Attempt > only {
		return f.ends(), 0, nil
	}
	if f.last.Number != f.at.Attempt { // another attempt than before, or one that is not there yet
		if err := f.lookAt(ctx); err != nil {
			return p, 0, err
		}
		if f.last.Number == 0 {
			if f.row.Status.Terminal() || !f.request.Wait {
				return f.ends(), 0, nil
			}
			return p, 0, nil
		}
	}
	p = LogPiece{Attempt: f.at.Attempt, Offset: f.at.Offset, Next: f.at}
	if !f.begun {
		f.begun, p.News = true, LogBegins
		return p, 0, nil
	}
	return f.growth(ctx, p)
}

// growth tells what the log of the attempt has behind what was told. The attempt was looked at before its log is: when that
// has ended, what is found is what there is.
func (f *LogFollower) growth(ctx context.Context, p LogPiece) (LogPiece, time.Duration, error) {
	found, err := f.control.blobs.Piece(LogKey(f.last.AttemptKey, f.request.Name), f.at.Offset, f.piece)
	if err != nil {
		return LogPiece{}, 0, answerBlob(err)
	}
	if found.At > f.at.Offset || found.N == 0 && !f.last.Live() { // there is less than was written, or all: or it was removed
		if err := f.control.logExpired(f.task); err != nil {
			return LogPiece{}, 0, err
		}
	}
	p.Next.Offset = found.At + int64(found.N)
	switch {
	case found.At > f.at.Offset:
		p.News, p.Left, p.Next.Offset = LogGap, found.At-f.at.Offset, found.At
		return p, 0, nil
	case found.N > 0:
		p.News, p.Data = LogBytes, f.piece[:found.N]
		return p, 0, nil
	case f.last.Live() && f.request.Wait:
		return LogPiece{}, 0, nil
	case f.last.Live():
		return f.ends(), 0, nil
	}
	missing, hope, err := f.missing(ctx, found.Open)
	if err != nil || hope && f.request.Wait {
		return LogPiece{}, openLook, err
	}
	p.News, p.Missing, p.Next, f.begun = LogCloses, missing, LogPosition{Attempt: f.at.Attempt + 1}, false
	return p, 0, nil
}

// openLook is how often to see whether the host of an ended attempt is still there.
const openLook = time.Second

// missing says why the log of an ended attempt may not be whole; "": it is. hope says that its host may still send the rest.
func (f *LogFollower) missing(ctx context.Context, open bool) (why string, hope bool, err error) {
	a := f.last
	switch {
	case a.DispatchedAt.IsZero():
		return "", false, nil
	case a.Reported == nil && a.Evidence == nil:
		return "the attempt has ended without a word of its host", false, nil
	case !open:
		return "", false, nil
	}
	now, err := f.control.store.Now(ctx)
	if err != nil {
		return "", false, answer(err, nil)
	}
	h, err := f.control.store.Host(ctx, a.HostID)
	if err != nil {
		return "", false, answer(err, unknownHost())
	}
	switch {
	case now.After(a.EndedAt.Add(late)):
		return "its host did not send the end of it in time", false, nil
	case !h.SilentSince.IsZero() || !h.RemovedAt.IsZero():
		return "its host is silent, and has not sent the end of it", false, nil
	}
	return "its host has not sent the end of it yet", true, nil
}

func (f *LogFollower) ends() LogPiece {
	return LogPiece{News: LogEnds, Status: f.row.Status, Attempt: f.at.Attempt, Offset: f.at.Offset, Next: f.at}
}
