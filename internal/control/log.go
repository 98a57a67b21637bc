package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/blob"
)

// lateLog is for how long after its end an attempt's log is still accepted.
const lateLog = 10 * time.Minute

// AppendLog stores bytes of one of the attempt's logs; offset counts what was written to it. What was stored before is ignored, and a
// gap is refused with the offset that is expected.
func (c *Control) AppendLog(ctx context.Context, host phonebooth.HostID, lease phonebooth.LeaseID, name string, offset int64, p []byte) (next int64, err error) {
	a, err := c.store.AttemptOfLease(ctx, lease)
	if err != nil {
		return 0, answer(err, unknownLease())
	}
	if a.HostID != host {
		return 0, unknownLease()
	}
	if !a.Live() {
		now, err := c.store.Now(ctx)
		if err != nil {
			return 0, answer(err, nil)
		}
		if now.After(a.EndedAt.Add(lateLog)) {
			return 0, phonebooth.Errorf(phonebooth.Conflict, "lease_lost", "the attempt ended too long ago; its log is closed").With("reason", "ended")
		}
	}
	next, err = c.blobs.Append(ctx, LogKey(a.AttemptKey, name), offset, p)
	return next, answerBlob(err)
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
		return nil, phonebooth.Errorf(phonebooth.NotFound, "attempt_unknown", "the task has %d attempts", t.Attempt)
	}
	r, err := c.blobs.ReadFrom(LogKey(phonebooth.AttemptKey{TaskID: id, Number: attempt}, name), offset)
	if err != nil {
		return nil, answerBlob(err)
	}
	return r, nil
}

// LogKey is where a log of an attempt lies.
func LogKey(key phonebooth.AttemptKey, name string) string {
	return fmt.Sprintf("%s/%d.%s", key.TaskID, key.Number, name)
}

func answerBlob(err error) error {
	if gap, ok := errors.AsType[*blob.GapError](err); ok {
		return phonebooth.Errorf(phonebooth.Conflict, "log_gap", "bytes before this offset are missing; go on at %d", gap.Next).
			With("next", strconv.FormatInt(gap.Next, 10))
	}
	return answer(err, nil)
}
