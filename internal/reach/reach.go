// Package reach remembers which positions of the record of events were seen. Those of other replicas may come behind later
// ones of our own, so there are gaps for a while; memory goes by the number of gaps.
package reach

import "slices"

// Reach is a set of positions, all above 0; the zero value is empty. It is for one goroutine.
type Reach struct {
	upTo  int64  // all up to this one
	ahead []span // and these, in order, with a gap before each
}

// UpTo is the last position before the first gap.
func (r *Reach) UpTo() int64 { return r.upTo }

// span is the positions from first to last.
type span struct{ first, last int64 }

// Has reports whether every position from first to last is in.
func (r *Reach) Has(first, last int64) bool {
	if last <= r.upTo {
		return true
	}
	return slices.ContainsFunc(r.ahead, func(s span) bool { return s.first <= max(first, r.upTo+1) && last <= s.last })
}

// Add puts in the positions from first to last; it reports whether none before them is missing.
func (r *Reach) Add(first, last int64) (whole bool) {
	if last > r.upTo {
		i, _ := slices.BinarySearchFunc(r.ahead, first, func(s span, at int64) int { return int(s.first - at) })
		r.ahead = slices.Insert(r.ahead, i, span{first, last})
		r.settle()
	}
	return len(r.ahead) == 0
}

// Jump puts in every position up to pos.
func (r *Reach) Jump(pos int64) {
	r.upTo = max(r.upTo, pos)
	r.settle()
}

// settle joins spans that touch.
func (r *Reach) settle() {
	for len(r.ahead) > 0 && r.ahead[0].first <= r.upTo+1 {
		r.upTo = max(r.upTo, r.ahead[0].last)
		r.ahead = r.ahead[1:]
	}
	for i := 1; i < len(r.ahead); {
		if before := &r.ahead[i-1]; r.ahead[i].first <= before.last+1 {
			before.last = max(before.last, r.ahead[i].last)
			r.ahead = slices.Delete(r.ahead, i, i+1)
			continue
		}
		i++
	}
}
