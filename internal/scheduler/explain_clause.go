package scheduler

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// clause is one clause of constraints, as constraints that ask for nothing else.
type clause struct {
	name  phonebooth.Mismatch
	value string
	alone phonebooth.Constraints
	names func(known) []named // what devices have where the clause asks for its value
}

// clausesOf takes c apart, in the order in which [phonebooth.Constraints.Match] looks at its clauses.
func clausesOf(c phonebooth.Constraints) []clause {
	var all []clause
	if c.DriverType != "" {
		all = append(all, clause{phonebooth.MismatchDriverType, c.DriverType, phonebooth.Constraints{DriverType: c.DriverType}, driverType})
	}
	if c.DeviceID != "" {
		all = append(all, clause{phonebooth.MismatchDeviceID, string(c.DeviceID), phonebooth.Constraints{DeviceID: c.DeviceID}, deviceNames})
	}
	if c.HostID != "" {
		all = append(all, clause{phonebooth.MismatchHostID, string(c.HostID), phonebooth.Constraints{HostID: c.HostID}, hostNames})
	}
	if c.Runner != "" {
		all = append(all, clause{phonebooth.MismatchRunner, c.Runner, phonebooth.Constraints{Runner: c.Runner}, runners})
	}
	for _, tag := range c.Tags {
		all = append(all, clause{phonebooth.MismatchTags, tag, phonebooth.Constraints{Tags: []string{tag}}, tags})
	}
	return all
}

// explainClauses says clause by clause what is left of the pool.
func explainClauses(c phonebooth.Constraints, pool []known) []v1.Clause {
	clauses := clausesOf(c)
	told := make([]v1.Clause, len(clauses))
	for i, cl := range clauses {
		told[i] = v1.Clause{Clause: string(cl.name), Value: cl.value, Losses: []v1.DeviceRef{}}
	}
	for _, k := range pool {
		lost := false
		for i, cl := range clauses {
			meets := cl.alone.Match(*k.device) == phonebooth.Matches
			if meets {
				told[i].Meeting++
			}
			switch {
			case lost:
			case meets:
				told[i].Left++
			default:
				lost = true
				told[i].Lost++
				if len(told[i].Losses) < maxListed {
					told[i].Losses = append(told[i].Losses, k.ref())
				}
			}
		}
	}
	for i, cl := range clauses {
		if told[i].Meeting == 0 {
			told[i].Nearest, told[i].Known = nearest(cl.value, pool, cl.names)
		}
	}
	return told
}

// maxStates is how many states are told apart: a bridge may report any text as a condition.
const maxStates = 12

// explainCandidates counts the devices of the pool that meet c, by what they do.
func explainCandidates(c phonebooth.Constraints, m moment) (count int, states []v1.CandidateState) {
	states = []v1.CandidateState{}
	at := map[string]int{}
	for _, k := range m.pool {
		if c.Match(*k.device) != phonebooth.Matches {
			continue
		}
		count++
		told := k.candidate(m.tried)
		state := k.state()
		i, seen := at[state]
		if !seen {
			if len(states) >= maxStates-1 {
				state = v1.CandidateOther
			}
			if i, seen = at[state]; !seen {
				i = len(states)
				at[state] = i
				states = append(states, v1.CandidateState{State: state, Devices: []v1.Candidate{}})
			}
		}
		states[i].Count++
		if len(states[i].Devices) < maxListed {
			states[i].Devices = append(states[i].Devices, told)
		}
	}
	slices.SortStableFunc(states, func(a, b v1.CandidateState) int { return cmp.Compare(hope(a.State), hope(b.State)) })
	return count, states
}

// state is what a candidate does, in one word.
func (k known) state() string {
	switch why := k.device.Available(*k.host, k.reservation); {
	case why != phonebooth.Available:
		return string(why)
	case k.busy:
		return v1.CandidatePlanned
	}
	return v1.CandidateFree
}

// hope orders states: those first that end soon and by themselves.
func hope(state string) int {
	order := []string{
		v1.CandidateFree, v1.CandidatePlanned, v1.CandidateReserved, "condition:" + string(phonebooth.Leased), "condition:" + string(phonebooth.Cleaning),
		"condition:booting", "condition:" + string(phonebooth.Unconfirmed), "", string(phonebooth.ReasonDeaf), string(phonebooth.ReasonSilent),
		string(phonebooth.ReasonDraining), string(phonebooth.ReasonCordon), string(phonebooth.ReasonQuarantine), v1.CandidateOther,
	}
	if i := slices.Index(order, state); i >= 0 {
		return i
	}
	return slices.Index(order, "")
}

// candidate says why k is in its state and since when.
func (k known) candidate(tried []phonebooth.DeviceID) v1.Candidate {
	c := v1.Candidate{Device: k.ref(), Tried: slices.Contains(tried, k.device.ID)}
	var since time.Time
	switch why := k.device.Available(*k.host, k.reservation); why {
	case phonebooth.Available:
	case phonebooth.ReasonReserved:
		since = k.reservation.Since
		c.Holder = &v1.Holder{TaskID: string(k.reservation.Attempt.TaskID), Attempt: k.reservation.Attempt.Number}
		well := *k.device
		well.Condition = phonebooth.Ready // what it is under the attempt says nothing of afterwards
		c.Then = string(well.Available(*k.host, nil))
	case phonebooth.ReasonCordon, phonebooth.ReasonQuarantine:
		since, c.Reason = k.device.HoldSince, k.device.HoldReason
	case phonebooth.ReasonDraining:
		since = k.host.DrainingSince
	case phonebooth.ReasonSilent:
		since = k.host.SilentSince
	case phonebooth.ReasonDeaf:
		since, c.Reason = k.host.DeafSince, k.host.DeafReason
	default:
		since, c.Reason = k.device.ConditionSince, k.device.ConditionReason
	}
	if !since.IsZero() {
		since = since.UTC()
		c.Since = &since
	}
	return c
}

func driverType(k known) []named { return []named{{k.device.DriverType, k.device.DriverType}} }
func runners(k known) []named    { return namesOf(k.device.Runners) }
func tags(k known) []named       { return namesOf(k.device.Tags) }

// Ids are confused with names, so both are looked at.
func deviceNames(k known) []named {
	shown := string(k.device.ID) + " (" + k.device.Name + " on " + k.host.Name + ")"
	return []named{{string(k.device.ID), shown}, {k.device.Name, shown}}
}

func hostNames(k known) []named {
	shown := string(k.host.ID) + " (" + k.host.Name + ")"
	return []named{{string(k.host.ID), shown}, {k.host.Name, shown}}
}

func namesOf(values []string) []named {
	all := make([]named, len(values))
	for i, v := range values {
		all[i] = named{v, v}
	}
	return all
}

// named is a value that some device has, and how it is shown.
type named struct{ value, shown string }

// maxNames is how many different values are compared with one that nothing has.
const maxNames = 10_000

// nearest are the values of the pool that are spelt most like value, and some of all.
func nearest(value string, pool []known, names func(known) []named) (near, some []string) {
	type scored struct {
		shown    string
		distance int
	}
	var found []scored
	var all []string
	seen, listed := map[string]bool{}, map[string]bool{}
	for _, k := range pool {
		for _, n := range names(k) {
			if seen[n.value] || len(seen) == maxNames {
				continue
			}
			seen[n.value] = true
			if !listed[n.shown] {
				listed[n.shown] = true
				all = append(all, n.shown)
			}
			if d, ok := alike(value, n.value); ok {
				found = append(found, scored{n.shown, d})
			}
		}
	}
	slices.SortFunc(found, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), strings.Compare(a.shown, b.shown))
	})
	for _, f := range found {
		if len(near) < maxListed-2 && !slices.Contains(near, f.shown) {
			near = append(near, f.shown)
		}
	}
	slices.Sort(all)
	return near, all[:min(len(all), maxListed)]
}
