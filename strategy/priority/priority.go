// Package priority is a strategy that lets urgent tasks overtake, but never for ever: each level of priority is worth a
// head start of [Step]. A task of priority 3 goes before one of priority 0 that was submitted up to thirty minutes earlier,
// and after one that is older than that. So a task of the lowest priority waits at most twenty steps longer than one of the
// highest, and none starves.
//
// Everything else is as with fifo_match. A Strategy has no state; its methods may be called at the same time.
package priority

import (
	"time"

	"github.com/phonebooth-dev/phonebooth/strategy"
)

// Name is what the strategy is registered under.
const Name = "priority"

// Step is the head start of one level of priority.
const Step = 10 * time.Minute

// New is the strategy.
func New() strategy.Strategy { return priority{} }

type priority struct{}

// Rank is the time of submission less the head start, in microseconds since 1970.
func (priority) Rank(t strategy.TaskFacts) int64 {
	return t.CreatedAt.UnixMicro() - int64(t.Priority)*Step.Microseconds()
}

// Plan gives each task in turn the first device it can get.
func (priority) Plan(v strategy.View) []strategy.Placement { return strategy.FirstMatch(v) }
