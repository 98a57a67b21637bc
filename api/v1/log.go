package v1

// Kinds of messages of a followed log: the names of its server-sent events.
const (
	LogAttempt = "attempt" // what follows is of this attempt, from Offset on
	LogData    = "log"     // Data, from Offset on
	LogGap     = "gap"     // so many Bytes from Offset on were left out
	LogClosed  = "closed"  // the attempt has ended, and its log ends at Offset
	LogEnd     = "end"     // nothing more will come
)

// LogMessage is the data of one message of a followed log. Offsets count what the runner wrote.
type LogMessage struct {
	Attempt  int    `json:"attempt,omitempty"`
	Offset   int64  `json:"offset"`
	Data     []byte `json:"data,omitempty" doc:"of log; base64"`
	Bytes    int64  `json:"bytes,omitempty" doc:"of gap: how many"`
	Complete bool   `json:"complete,omitempty" doc:"of closed: it is whole"`
	Reason   string `json:"reason,omitempty" doc:"of closed: why it may not be"`
	Status   string `json:"status,omitempty" enum:"queued,assigned,dispatched,done,failed,cancelled" doc:"of end: the task's"`
}
