package control

import (
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/blob"
)

// logExpired refuses the logs of a task whose bytes were removed, if there were any. Whoever has opened something asks
// afterwards.
func (c *Control) logExpired(id phonebooth.TaskID) error {
	e, expired, err := c.blobs.Expired(string(id))
	if err != nil || !expired || e.LogBytes == 0 {
		return answer(err, nil)
	}
	return removed("log_expired", "the task's logs were", e)
}

// artifactsExpired does the same for its artifacts.
func (c *Control) artifactsExpired(id phonebooth.TaskID) error {
	e, expired, err := c.blobs.Expired(string(id))
	if err != nil || !expired || e.Artifacts == 0 {
		return answer(err, nil)
	}
	return removed("artifacts_expired", "the task's artifacts were", e)
}

func removed(code, what string, e blob.Expiry) error {
	return phonebooth.Errorf(phonebooth.Gone, code, "%s removed by retention on %s; how long they are kept is the server's --output-retention "+
		"and --output-limit", what, e.At.UTC().Format("2006-01-02 15:04 UTC")).With("removed_at", e.At.UTC().Format(time.RFC3339))
}
