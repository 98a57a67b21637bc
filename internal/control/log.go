package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// late is for how long after its end an attempt's logs and artifacts are still accepted.
const late = 10 * time.Minute

// AppendLog stores bytes of one of the attempt's logs; offset counts what was written to it. What was stored before is ignored, and a
// gap is refused with the offset that is expected.
func (c *Control) AppendLog(ctx context.Context, host phonebooth.HostID, lease phonebooth.LeaseID, name string, offset int64, p []byte) (next int64, err error) {
	key, err := c.writable(ctx, host, lease)
	if err != nil {
		return 0, err
	}
	next, err = c.blobs.Append(ctx, LogKey(key, name), offset, p)
	if err == nil {
		c.watches.grown(key.TaskID)
	}
	return next, answerBlob(err)
}

// EndLog says that one of the attempt's logs is whole with size bytes. If there are fewer it is refused as a gap.
func (c *Control) EndLog(ctx context.Context, host phonebooth.HostID, lease phonebooth.LeaseID, name string, size int64) error {
	key, err := c.writable(ctx, host, lease)
	if err != nil {
		return err
	}
	if err := c.blobs.Finish(LogKey(key, name), size); err != nil {
		return answerBlob(err)
	}
	c.watches.grown(key.TaskID)
	return nil
}

// ExpectLogs says that more of these logs of the attempt will come behind its report, each until its EndLog. It comes before
// the report, so that nobody takes the log for whole who sees that the attempt has ended.
func (c *Control) ExpectLogs(ctx context.Context, host phonebooth.HostID, lease phonebooth.LeaseID, names []string) error {
	key, err := c.writable(ctx, host, lease)
	for _, name := range names {
		if err == nil {
			err = answerBlob(c.blobs.Announce(LogKey(key, name)))
		}
	}
	return err
}

// writable is the attempt of a lease of host's whose files are still accepted.
func (c *Control) writable(ctx context.Context, host phonebooth.HostID, lease phonebooth.LeaseID) (key phonebooth.AttemptKey, err error) {
	a, err := c.store.AttemptOfLease(ctx, lease)
	if err != nil {
		return key, answer(err, unknownLease())
	}
	if a.HostID != host {
		return key, unknownLease()
	}
	if a.Live() {
		return a.AttemptKey, nil
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return key, answer(err, nil)
	}
	if now.After(a.EndedAt.Add(late)) {
		return key, phonebooth.Errorf(phonebooth.Conflict, "lease_lost", "the attempt ended too long ago; its log and its artifacts are closed").
			With("reason", "ended")
	}
	return a.AttemptKey, nil
}

// Log reads one of the logs of an attempt from offset; attempt 0 is the newest. A log that has no bytes yet is empty.
func (c *Control) Log(ctx context.Context, id phonebooth.TaskID, attempt int, name string, offset int64) (io.ReadCloser, error) {
	t, err := c.Task(ctx, id)
	if err != nil {
		return nil, err
	}
	if attempt == 0 {
		attempt = t.Attempt
	}
	if attempt < 0 || attempt > t.Attempt {
		return nil, hasAttempt(t, attempt)
	}
	r, err := c.blobs.ReadFrom(LogKey(phonebooth.AttemptKey{TaskID: id, Number: attempt}, name), offset)
	if err != nil {
		return nil, answerBlob(err)
	}
	if err := c.logExpired(id); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// LogKey is where a log of an attempt lies.
func LogKey(key phonebooth.AttemptKey, name string) string {
	return fmt.Sprintf("%s/%d.%s", key.TaskID, key.Number, name)
}
