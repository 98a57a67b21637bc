// Package lifecycle is the state machine of tasks, attempts, devices and hosts, written once.
//
// Every verb is a pure function from rows and a time to a [Change], and, where a caller branches on the answer, a result:
//
//	change, err := lifecycle.Cancel(task, now)
//
// An error is a refusal: nothing changes, and the error says why. Results that a caller must tell apart, such as a lost
// lease, are values. The package does no input or output, reads no clock and knows no SQL: the ledger loads rows, decides
// with these functions, and writes the Change in the same transaction. The file hostside.go holds the other half of the
// protocol: what an agent may believe of a lease.
//
// Rows that are passed in are never modified; a Change holds new copies with their revision raised. All functions may be
// called by any number of goroutines.
package lifecycle
