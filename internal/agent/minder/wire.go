package minder

import (
	"time"
)

// The control pipe (the minder's stdin) carries commands and the event pipe (its file 3)
// carries events, one JSON value a line. The first command is the order; the pipe's end
// means that the agent is gone.

type command struct {
	Do    string        `json:"do"` // one of the do... words
	Order *order        `json:"order,omitempty"`
	At    time.Duration `json:"at_ns,omitempty"` // of a deadline
}

const (
	doRun      = "run"
	doDeadline = "deadline"
	doStop     = "stop"
	doKill     = "kill"
)

type event struct {
	Runner int   `json:"runner,omitempty"` // it has started, under this process id
	Exit   *Exit `json:"exit,omitempty"`   // it has ended, and nothing more will be told
}

// eventFD is the minder's end of the event pipe.
const eventFD = 3

// order is what crosses of a Spec. Texts that the system sees as bytes travel as bytes:
// JSON would change those that are not UTF-8.
type order struct {
	Argv     [][]byte      `json:"argv"`
	Env      [][]byte      `json:"env"`
	Dir      []byte        `json:"dir"`
	LogPath  []byte        `json:"log"`
	ExitPath []byte        `json:"exit"`
	Cookie   string        `json:"cookie"`
	Deadline time.Duration `json:"deadline_ns"`
	Ladder   Ladder        `json:"ladder"`
}

func orderOf(s Spec) *order {
	return &order{
		Argv: toBytes(s.Argv), Env: toBytes(s.Env),
		Dir: []byte(s.Dir), LogPath: []byte(s.LogPath), ExitPath: []byte(s.ExitPath),
		Cookie: s.Cookie, Deadline: s.Deadline, Ladder: s.Ladder,
	}
}

func (o *order) spec() Spec {
	return Spec{
		Argv: toStrings(o.Argv), Env: toStrings(o.Env),
		Dir: string(o.Dir), LogPath: string(o.LogPath), ExitPath: string(o.ExitPath),
		Cookie: o.Cookie, Deadline: o.Deadline, Ladder: o.Ladder,
	}
}

func toBytes(texts []string) [][]byte {
	out := make([][]byte, len(texts))
	for i, text := range texts {
		out[i] = []byte(text)
	}
	return out
}

func toStrings(texts [][]byte) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = string(text)
	}
	return out
}
