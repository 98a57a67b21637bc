// Package scheduler finds out which queued task can go to which idle device, and asks for it.
//
// It keeps an index of the queued tasks, the devices, the hosts and the reservations. The index is a versioned cache: the
// store is the truth, and everything is checked again in the transaction that binds a task to a device. A placement that is
// refused costs a read of its rows, nothing else.
//
//	s := scheduler.New(st, control.Place, strategy, "fifo_match", scheduler.Options{})
//	ledger.Subscribe(func(c ledger.Commit) { s.Apply(c.Change) })
//	err := s.Run(ctx)
//
// Facts that callers may rely on:
//
//  1. Tasks with equal constraints wait in one lane, in the strategy's order. A pass looks only at lanes that have a task and
//     an idle device, so its cost does not grow with the queue.
//  2. Candidates are judged by [phonebooth.Constraints.Match] and [phonebooth.Device.Available], and by nothing else.
//  3. A pass is woken by a commit or by the answer to a placement. Nothing is found by looking again after a while.
//  4. A planned task and its device are out of all other plans until the placement is answered.
//  5. A row replaces an older one only. Reservations have no revision of their own and go by the position of the change.
//  6. At intervals the index is compared with the store. A difference is repaired and reported: it is a fault of ours.
//  7. [Scheduler.Explain] says why a task waits: it asks the same two judges and the same strategy, and reads the same lanes.
//
// It does not write, and does not know leases (it draws their ids).
//
// Apply, Explain and the reading methods may be called at any time from any goroutine. Run is called once and owns every
// goroutine that the package starts. The strategy is called from Run and from Explain, at the same time too.
package scheduler
