// Package phonebooth is the vocabulary of Phonebooth, a task scheduler for pools of phones and other driveable devices.
//
// A caller submits a [Task]: a goal, or a workflow, with [Constraints]. The scheduler binds it to one idle [Device] of some
// [Host]; that binding is an [Attempt] under a bounded lease, and a [Reservation] keeps the device from every other task
// meanwhile. The host claims the attempt, runs it, and reports how it ended. Everything that happened is an [Event].
//
// The package holds types, their validation and their names, and the only matcher there is: [Constraints.Match] and
// [Device.Available] decide for the scheduler, for the transaction that places a task, and for the explanation of a wait.
// It does no input or output, reads no clock, and knows no database. Values are plain data: share them between goroutines
// only while nobody writes.
//
// The numbered rules named in comments (S5.1) are those of the specification.
package phonebooth
