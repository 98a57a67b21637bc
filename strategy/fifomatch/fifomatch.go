// Package fifomatch is the default strategy: the oldest queued task that an idle device matches goes first, to the first
// idle device that matches it (spec S3.1).
//
// A task for which no device is idle waits and blocks nobody behind it. A task that failed on a device before gets another
// one when there is another.
//
// A Strategy has no state; its methods may be called at the same time.
package fifomatch

import "github.com/phonebooth-dev/phonebooth/strategy"

// Name is what the strategy is registered under.
const Name = "fifo_match"

// New is the strategy.
func New() strategy.Strategy { return fifo{} }

type fifo struct{}

// Rank is the same for every task: the queue goes by the order of submission.
func (fifo) Rank(strategy.TaskFacts) int64 { return 0 }

// Plan gives each task in turn the first device it can get.
func (fifo) Plan(v strategy.View) []strategy.Placement { return strategy.FirstMatch(v) }
