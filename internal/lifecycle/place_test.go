package lifecycle

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth"
)

func TestS5_1_PlaceRecordsEverythingTogether(t *testing.T) {
	t.Parallel()
	task, h, d := taskIn(phonebooth.Queued), listeningHost(), readyDevice()
	task.Attempt = 1 // one expired before
	p := Placement{TaskID: task.ID, DeviceID: d.ID, HostID: h.ID, LeaseID: "lease_2", Strategy: "fifo_match"}
	c, err := Place(p, h, d, nil, task, policy, epoch)
	if err != nil {
		t.Fatal(err)
	}
	key := phonebooth.AttemptKey{TaskID: task.ID, Number: 2}
	placed := task
	placed.Status, placed.Attempt, placed.DeviceID, placed.HostID = phonebooth.Assigned, 2, d.ID, h.ID
	placed.AssignedAt, placed.Rev = epoch, task.Rev+1
	want := Change{
		Tasks: []phonebooth.Task{placed},
		Attempts: []phonebooth.Attempt{{
			AttemptKey: key, LeaseID: "lease_2", HostID: h.ID, DeviceID: d.ID, State: phonebooth.AttemptAssigned,
			AssignedAt: epoch, ExpiresAt: after(15),
		}},
		Reserve: []phonebooth.Reservation{{DeviceID: d.ID, Attempt: key, Since: epoch}},
		Events: []phonebooth.Event{{
			Kind: phonebooth.TaskAssigned, TaskID: task.ID, Attempt: 2, DeviceID: d.ID, HostID: h.ID,
			Detail: phonebooth.EventDetail{Status: phonebooth.Assigned, Strategy: "fifo_match"},
		}},
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestS5_2_ReservedDeviceIsExcluded(t *testing.T) {
	t.Parallel()
	d := readyDevice() // its host still reports it ready
	r := &phonebooth.Reservation{DeviceID: d.ID, Attempt: phonebooth.AttemptKey{TaskID: "task_9", Number: 1}}
	c, err := Place(Placement{LeaseID: "lease_2"}, listeningHost(), d, r, taskIn(phonebooth.Queued), policy, epoch)
	wantCode(t, err, "device_unavailable")
	wantEmpty(t, c)
}
