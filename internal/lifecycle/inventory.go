package lifecycle

import (
	"maps"
	"slices"
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// Sighting is one device in a host's inventory.
type Sighting struct {
	Key        string
	Name       string
	DriverType string
	Tags       []string
	Runners    []string
	Fence      string
	Attributes map[string]string
	Condition  phonebooth.Condition
	Reason     string
	Confirm    int64 // what the last answer asked to repeat for it, else 0
	Probed     int64 // the number of the probe that it has passed, see ProbeAsked; else 0
}

// Inventory is a host's full list of devices, and its heartbeat. known are all devices that the control plane has of the host.
// What was said under an older word than the one a device already has is ignored for that device (C49); a known device that
// is missing is offline, while its lease runs its course. Only what changed is written. An unconfirmed device comes back only
// by a sighting that repeats its Confirm number: so it was made after the lease was taken, however late older ones arrive.
// Each key stands once in seen.
func Inventory(h phonebooth.Host, word phonebooth.Word, seen []Sighting, known []phonebooth.Device, now time.Time) (Change, error) {
	if err := CheckIncarnation(h, word.Incarnation); err != nil {
		return Change{}, err
	}
	var c Change
	h.HeardAt = now
	if !h.SilentSince.IsZero() {
		h.SilentSince = time.Time{}
		c.hostEvent(phonebooth.HostHeard, h, phonebooth.EventDetail{})
	}
	fresh := word.Newer(h.Word)
	if fresh {
		if h.Word.Incarnation != h.Incarnation && !h.PolledAt.IsZero() {
			c.listen(&h) // this life asked for work before it said what it has
		}
		h.Word = word
	}
	c.host(h)
	if !fresh {
		return c, nil
	}
	byKey := make(map[string]phonebooth.Device, len(known))
	for _, d := range known {
		byKey[d.Key] = d
	}
	for _, s := range seen {
		d, ok := byKey[s.Key]
		delete(byKey, s.Key)
		if !ok {
			c.register(h, word, s, now)
			continue
		}
		c.resight(d, word, s, now)
	}
	for _, d := range known {
		if _, missing := byKey[d.Key]; missing && word.Newer(d.Word) {
			c.lose(d, word, now)
		}
	}
	return c, nil
}

func (c *Change) register(h phonebooth.Host, word phonebooth.Word, s Sighting, now time.Time) {
	d := phonebooth.Device{
		ID: phonebooth.DeviceIDOf(h.ID, s.Key), HostID: h.ID, Key: s.Key,
		Condition: s.Condition, ConditionReason: s.Reason, ConditionSince: now, Word: word,
		Hold: phonebooth.NoHold, RegisteredAt: now,
	}
	describe(&d, s)
	c.device(d)
	c.deviceEvent(phonebooth.DeviceRegistered, d, phonebooth.EventDetail{Condition: d.Condition, Name: d.Name})
}

// resight takes a newer word on a known device. An unchanged one is not written.
func (c *Change) resight(d phonebooth.Device, word phonebooth.Word, s Sighting, now time.Time) {
	if !word.Newer(d.Word) || d.Condition == phonebooth.Unconfirmed && s.Confirm != d.Confirm {
		return
	}
	changed := describe(&d, s)
	changed = setCondition(&d, s.Condition, s.Reason, now) || changed
	if passed := c.passProbe(&d, s); passed || changed {
		d.Word, d.Confirm = word, 0
		c.device(d)
	}
	if changed {
		c.deviceEvent(phonebooth.DeviceChanged, d, phonebooth.EventDetail{Condition: d.Condition, Reason: d.ConditionReason})
	}
}

func (c *Change) lose(d phonebooth.Device, word phonebooth.Word, now time.Time) {
	if d.Condition != phonebooth.Unconfirmed && setCondition(&d, phonebooth.Offline, "its host does not see it any more", now) {
		d.Word = word
		c.device(d)
		c.deviceEvent(phonebooth.DeviceChanged, d, phonebooth.EventDetail{Condition: d.Condition, Reason: d.ConditionReason})
	}
}

// describe copies what a sighting says the device is; it reports whether that is news.
func describe(d *phonebooth.Device, s Sighting) bool {
	tags := phonebooth.Constraints{Tags: s.Tags}.Normalized().Tags
	if d.Name == s.Name && d.DriverType == s.DriverType && d.Fence == s.Fence && slices.Equal(d.Tags, tags) &&
		slices.Equal(d.Runners, s.Runners) && maps.Equal(d.Attributes, s.Attributes) {
		return false
	}
	d.Name, d.DriverType, d.Fence, d.Tags, d.Runners, d.Attributes = s.Name, s.DriverType, s.Fence, tags, s.Runners, s.Attributes
	return true
}
