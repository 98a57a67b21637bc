// Package spool keeps the reports that wait to be acknowledged by the server.
//
// A report is on the disk before it is sent, so neither an outage nor a kill of the
// agent loses the outcome of an attempt. The first report of a lease stands: the
// server would refuse a second one that says something else.
//
//	s, err := spool.Open(dir)
//	err = s.Put(leaseID, report)
//	for _, r := range s.Pending() { send(r); s.Ack(r.LeaseID) }
//
// It does not send, and it does not judge what a report says. When Put returns an
// error that is diskmap.ErrFull the agent must ask for no more work until a repeated
// Put has worked. All methods may be called from any number of goroutines; one
// process at a time may have a directory open.
package spool

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/phonebooth-dev/phonebooth/internal/agent/diskmap"
)

// ErrReported means that the lease has a report already, which says something else.
var ErrReported = errors.New("the lease has another report already")

// Report is one report that the server has not acknowledged.
type Report struct {
	LeaseID string          `json:"lease_id"`
	Seq     int64           `json:"seq"` // grows with each Put, over restarts
	Body    json.RawMessage `json:"report"`
}

// Spool is the reports of one directory.
type Spool struct {
	reports *diskmap.Map[Report]
	last    atomic.Int64
}

// Open reads the spool in dir, which it makes if it is not there.
func Open(dir string) (*Spool, error) {
	reports, err := diskmap.Open(dir, func(r Report) string { return r.LeaseID })
	if err != nil {
		return nil, err
	}
	s := &Spool{reports: reports}
	for _, r := range reports.All() {
		s.last.Store(max(s.last.Load(), r.Seq))
	}
	return s, nil
}

// Put keeps the report of a lease until Ack. When it returns nil the report would
// survive a power cut. Putting the same report again is no error; another one for the
// same lease is ErrReported and changes nothing.
func (s *Spool) Put(leaseID string, report json.RawMessage) error {
	body, err := json.Marshal(report) // spelt as it will be read back from the disk
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	r := Report{LeaseID: leaseID, Seq: s.last.Add(1), Body: body}
	there, added, err := s.reports.Add(r)
	if err != nil {
		return err
	}
	if !added && !bytes.Equal(there.Body, r.Body) {
		return ErrReported
	}
	return nil
}

// Pending are the reports that were not acknowledged, in the order in which they came.
func (s *Spool) Pending() []Report {
	var waiting []Report
	for _, r := range s.reports.All() {
		waiting = append(waiting, r)
	}
	slices.SortFunc(waiting, func(a, b Report) int { return cmp.Compare(a.Seq, b.Seq) })
	return waiting
}

// Ack forgets the report of a lease: the server has it, or never wants it. It is no
// error when there is none.
func (s *Spool) Ack(leaseID string) error { return s.reports.Remove(leaseID) }

// Quarantined lists the files that Open could not read and moved aside. Each is a
// lease (its Key) whose outcome is lost.
func (s *Spool) Quarantined() []diskmap.Bad { return s.reports.Quarantined() }
