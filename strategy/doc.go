// Package strategy is the contract of an AssignmentStrategy: which queued task goes to which idle device (spec S2.1, S3).
//
// A strategy is two pure functions. Rank gives a task its place in the queue, once, when it enters it. Plan looks at a
// [View] of what can be placed at this moment and answers with pairs of a task and a device:
//
//	func (mine) Rank(strategy.TaskFacts) int64 { return 0 } // first in, first out
//
//	func (mine) Plan(v strategy.View) []strategy.Placement {
//		draft := strategy.NewDraft(v)
//		for task, devices := range draft.Tasks() {
//			for device := range devices {
//				draft.Place(task, device)
//				break // the first one will do
//			}
//		}
//		return draft.Placements()
//	}
//
// That plan is [FirstMatch]; a strategy that only wants another order of the queue has Plan call it.
//
// It is found by name in a [Registry], which is a value: a program that embeds the control plane takes the registry of
// package builtin, registers its own strategies, and passes it on; configuration then selects one by name alone. Nothing
// is registered by importing a package. Package strategytest checks a strategy in one call.
//
// A strategy does not bind anything. The scheduler hands the plan to a transaction that checks every placement again and
// may refuse it, because the world moved on; that is normal, and the next plan sees the new state. Nor does a strategy
// match: a View holds matching pairs only.
//
// Plan is never called twice at the same time, Rank may be called while Plan runs. Neither may block, read a clock, draw
// random numbers, or keep anything of a View after it has returned. What a View yields is shared and read-only.
package strategy
