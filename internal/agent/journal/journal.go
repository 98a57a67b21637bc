// Package journal is the agent's memory of the leases that it holds: what a restarted
// agent needs to kill what its predecessor left and to give it back.
//
// An entry is on the disk before anything is done for its lease, learns of the minder
// before the runner starts, and goes when the report of the lease is in the spool and
// the device is clean. It is not a history: it holds what is open and nothing else.
//
//	j, err := journal.Open(dir)
//	err = j.Put(journal.Entry{LeaseID: id, Cookie: cookie, ...})
//	err = j.Update(id, func(e *journal.Entry) { e.MinderPID = pid })
//	err = j.Remove(id)
//
// Entries hold goals and secrets: the directory has mode 0700 and each file 0600. All
// methods may be called from any number of goroutines; one process at a time may have
// a directory open. Errors that are diskmap.ErrFull mean that the disk has no room.
package journal

import (
	"encoding/json"

	"github.com/phonebooth-dev/phonebooth/internal/agent/diskmap"
)

// Entry is what the agent knows of one lease.
type Entry struct {
	LeaseID    string          `json:"lease_id"`
	TaskID     string          `json:"task_id"`
	Attempt    int             `json:"attempt"`
	DeviceID   string          `json:"device_id"`
	Assignment json.RawMessage `json:"assignment,omitempty"` // as it came from the server
	Cookie     string          `json:"cookie"`               // marks the runner's processes
	WorkDir    string          `json:"work_dir"`

	// The minder, so that it is told from a later process with the same number.
	MinderPID   int    `json:"minder_pid,omitempty"`
	MinderStart uint64 `json:"minder_start,omitempty"`
	BootID      string `json:"boot_id,omitempty"`

	Phase string `json:"phase"` // how far the agent had come; the agent's own word
}

// Journal is the entries of one directory.
type Journal struct {
	entries *diskmap.Map[Entry]
}

// Open reads the journal in dir, which it makes if it is not there.
func Open(dir string) (*Journal, error) {
	entries, err := diskmap.Open(dir, func(e Entry) string { return e.LeaseID })
	if err != nil {
		return nil, err
	}
	return &Journal{entries: entries}, nil
}

// Put writes e down, in the place of an older entry of the same lease. When it returns
// nil the entry would survive a power cut; otherwise nothing may be done for the lease.
func (j *Journal) Put(e Entry) error { return j.entries.Put(e) }

// Update changes the entry of a lease, as lastingly as Put. The error is
// diskmap.ErrAbsent when there is none.
func (j *Journal) Update(leaseID string, change func(*Entry)) error {
	return j.entries.Update(leaseID, change)
}

// Remove ends the entry of a lease. It is no error when there is none.
func (j *Journal) Remove(leaseID string) error { return j.entries.Remove(leaseID) }

// Entries are the leases that are open, by lease id.
func (j *Journal) Entries() []Entry {
	var open []Entry
	for _, e := range j.entries.All() {
		open = append(open, e)
	}
	return open
}

// Quarantined lists the files that Open could not read and moved aside. Each is a
// lease (its Key) of which nothing is known but that it may have run: its runner can
// only be found by the part of the cookie that is common to all of the agent's leases.
func (j *Journal) Quarantined() []diskmap.Bad { return j.entries.Quarantined() }
