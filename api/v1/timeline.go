package v1

import (
	"time"

	"github.com/phonebooth-dev/phonebooth"
)

// Timeline is what devices did and suffered in a span of time.
type Timeline struct {
	From    time.Time     `json:"from"`
	To      time.Time     `json:"to"`
	Now     time.Time     `json:"now" doc:"by the clock that all these times are of"`
	FoldMS  int64         `json:"fold_ms" doc:"what is closer together than this may have been folded into one; then count tells how many there are"`
	Devices int           `json:"devices" doc:"how many there are in the pool"`
	Rows    []TimelineRow `json:"rows" doc:"a device each, the first registered one first"`
	Next    string        `json:"next,omitempty" doc:"after of the next page; left out: there is none"`
}

// TimelineRow is one device's.
type TimelineRow struct {
	DeviceID     string            `json:"device_id"`
	Name         string            `json:"name"`
	HostID       string            `json:"host_id"`
	Host         string            `json:"host" doc:"its name"`
	RegisteredAt time.Time         `json:"registered_at"`
	Bars         []TimelineBar     `json:"bars" doc:"attempts, by begin"`
	Stretches    []TimelineStretch `json:"stretches" doc:"when it was out, or being cleaned; by begin"`
}

// TimelineBar is one attempt, or several that ended alike and are too close to be told apart.
type TimelineBar struct {
	TaskID    string     `json:"task_id" doc:"of one of them"`
	Attempt   int        `json:"attempt"`
	Begin     time.Time  `json:"begin" doc:"when the device was taken for it; may be before the span"`
	StartedAt *time.Time `json:"started_at,omitempty" doc:"when its host began; left out: not yet, or never"`
	End       *time.Time `json:"end,omitempty" doc:"left out: it has not ended"`
	Ending    string     `json:"ending,omitempty" doc:"done, failed, cancelled, expired, abandoned or released"`
	Code      string     `json:"code,omitempty" doc:"of a single one"`
	Goal      string     `json:"goal,omitempty" doc:"of its task, shortened"`
	Workflow  string     `json:"workflow,omitempty" doc:"of its task"`
	Count     int        `json:"count" doc:"how many attempts it stands for"`
}

// TimelineStretch is a time in which a device was not simply ready or leased.
type TimelineStretch struct {
	Track  string     `json:"track" enum:"condition,hold,host" doc:"whose word it is: the host's, ours, or what befell the host"`
	State  string     `json:"state" doc:"such as cleaning, offline, quarantined, silent; unknown where the record does not reach back"`
	Reason string     `json:"reason,omitempty"`
	Begin  time.Time  `json:"begin" doc:"may be before the span"`
	End    *time.Time `json:"end,omitempty" doc:"left out: it goes on at the end of the span"`
	Count  int        `json:"count" doc:"how many changes it stands for"`
}

// labelRunes is how much of a goal a bar tells.
const labelRunes = 120

// TimelineBarOf is the wire form of an attempt on a timeline, which stands for count.
func TimelineBarOf(key phonebooth.AttemptKey, begin, started, end time.Time, ending phonebooth.Ending, count int) TimelineBar {
	return TimelineBar{
		TaskID: string(key.TaskID), Attempt: key.Number, Begin: begin.UTC(), StartedAt: timeOf(started), End: timeOf(end),
		Ending: string(ending), Count: count,
	}
}

// TimelineStretchOf is the wire form of a stretch.
func TimelineStretchOf(track, state, reason string, begin, end time.Time, count int) TimelineStretch {
	return TimelineStretch{Track: track, State: state, Reason: reason, Begin: begin.UTC(), End: timeOf(end), Count: count}
}

// ShortGoal is as much of a goal as a label shows.
func ShortGoal(goal string) string {
	if runes := []rune(goal); len(runes) > labelRunes {
		return string(runes[:labelRunes-1]) + "…"
	}
	return goal
}
