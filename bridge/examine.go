package bridge

import "context"

// Examiner is a [Bridge] that can tell how the programs and servers are that it depends on. Examine does what the bridge would
// do at its start and no more; it may be called while Watch runs, here or in another process.
type Examiner interface {
	Examine(ctx context.Context) []Finding
}

// Finding is one thing that an operator wants to know of a host.
type Finding struct {
	Subject string  `json:"subject"` // what was looked at
	Verdict Verdict `json:"verdict"`
	Message string  `json:"message"`          // what was found
	Advice  string  `json:"advice,omitempty"` // what to do about it
}

// Verdict says how something is.
type Verdict string

// The verdicts.
const (
	Well Verdict = "ok"
	Odd  Verdict = "odd"  // it works; somebody should look at it all the same
	Idle Verdict = "idle" // it is not there, and nobody has asked for it
	Ill  Verdict = "ill"
)

// Wrapper is a bridge around another one.
type Wrapper interface {
	Bridge
	Unwrap() Bridge
}

// AsExaminer finds the Examiner in b or in what it wraps.
func AsExaminer(b Bridge) (Examiner, bool) {
	for {
		if e, ok := b.(Examiner); ok {
			return e, true
		}
		w, ok := b.(Wrapper)
		if !ok {
			return nil, false
		}
		b = w.Unwrap()
	}
}
