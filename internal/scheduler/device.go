package scheduler

import (
	"reflect"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// deviceRow is a device in the index.
type deviceRow struct {
	row         *phonebooth.Device // replaced, never changed: explanations keep it
	known       bool               // row is set
	host        *hostRow
	reservation *phonebooth.Reservation
	reservedPos int64   // position of the newest change known to speak of the reservation
	lanes       []*lane // those whose constraints it meets, closed ones among them
	idle        bool    // it stands in the lanes as a candidate
	busy        bool    // in flight: in a plan that was not answered yet
}

func (x *index) device(id phonebooth.DeviceID) *deviceRow {
	d := x.devices[id]
	if d == nil {
		d = &deviceRow{row: &phonebooth.Device{}}
		x.devices[id] = d
	}
	return d
}

// putDevice takes over a newer row.
func (x *index) putDevice(row phonebooth.Device) {
	d := x.device(row.ID)
	if d.known && row.Rev <= d.row.Rev {
		return
	}
	x.touch(string(row.ID))
	if d.known && sameKind(*d.row, row) {
		d.row = &row
		x.judge(d)
		return
	}
	x.setIdle(d, false)
	if !d.known {
		d.known, d.host = true, x.host(row.HostID)
		d.host.devices = append(d.host.devices, d)
	}
	d.row, d.lanes = &row, nil
	for _, l := range x.lanes {
		if l.constraints.Match(row) == phonebooth.Matches {
			d.lanes = append(d.lanes, l)
		}
	}
	x.judge(d)
}

// sameKind reports whether two rows of a device differ only in what is said anew with every task: then it meets the same
// constraints as before.
func sameKind(a, b phonebooth.Device) bool {
	for _, d := range []*phonebooth.Device{&a, &b} {
		d.Condition, d.ConditionReason, d.ConditionSince, d.Word, d.Confirm = "", "", time.Time{}, phonebooth.Word{}, 0
		d.Hold, d.HoldReason, d.HoldSince, d.Streak, d.Trail, d.Rev = "", "", time.Time{}, 0, nil, 0
	}
	return reflect.DeepEqual(a, b)
}

// setReservation notes who holds the device as of position pos; nil: nobody. What was known as of a later one stays.
func (x *index) setReservation(id phonebooth.DeviceID, r *phonebooth.Reservation, pos int64) {
	d := x.device(id)
	if pos < d.reservedPos {
		return
	}
	d.reservedPos = pos
	x.touch(string(id))
	if r != nil {
		kept := *r
		r = &kept
	}
	d.reservation = r
	x.judge(d)
}

// judge asks whether d is a candidate now.
func (x *index) judge(d *deviceRow) {
	x.setIdle(d, d.known && d.host.known && !d.busy &&
		d.row.Available(d.host.row, d.reservation) == phonebooth.Available)
}

func (x *index) setDeviceBusy(d *deviceRow, busy bool) {
	d.busy = busy
	x.judge(d)
}

func (x *index) setIdle(d *deviceRow, idle bool) {
	if d.idle == idle {
		return
	}
	d.idle = idle
	d.forgetClosed()
	for _, l := range d.lanes {
		if idle {
			l.idle.ReplaceOrInsert(d)
		} else {
			l.idle.Delete(d)
		}
		x.look(l)
	}
}
