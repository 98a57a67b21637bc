package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// The types of events.
const (
	EventStep      = "step"      // the program begins or ends a part of its work
	EventProgress  = "progress"  // how far it is
	EventCost      = "cost"      // what it has used up since its last event of this type
	EventHeartbeat = "heartbeat" // it is alive: for programs whose runner may not be silent
)

// MaxEventBytes is how long a line of PHONEBOOTH_EVENTS may be; a longer one is dropped.
const MaxEventBytes = 64 << 10

// maxEventText bounds the short texts of an event, in bytes.
const maxEventText = 1024

// Event is one line of PHONEBOOTH_EVENTS. Fields that belong to other types of events are left out.
type Event struct {
	Type    string `json:"type"`
	Message string `json:"message,omitempty"` // for people; any type

	Name   string `json:"name,omitempty"`   // step: which
	Status string `json:"status,omitempty"` // step: started, done, failed or skipped; started when left out

	Percent *float64 `json:"percent,omitempty"` // progress: 0 to 100

	Amount       *float64 `json:"amount,omitempty"`        // cost: in Currency
	Currency     string   `json:"currency,omitempty"`      // cost: three letters of ISO 4217; USD when left out
	InputTokens  *int64   `json:"input_tokens,omitempty"`  // cost
	OutputTokens *int64   `json:"output_tokens,omitempty"` // cost
	Model        string   `json:"model,omitempty"`         // cost: what was paid for

	// What the host adds, in place of what the program wrote there.
	Time time.Time `json:"time,omitzero"`     // when the host read it
	Step string    `json:"step_id,omitempty"` // the step of a workflow
}

// ParseEvent reads one line of PHONEBOOTH_EVENTS and keeps what belongs to its type. Unknown fields are no error. The error
// holds nothing of the line.
func ParseEvent(line []byte) (Event, error) {
	if len(line) > MaxEventBytes {
		return Event{}, fmt.Errorf("it is longer than %d bytes", MaxEventBytes)
	}
	var given struct {
		Event
		Time json.RawMessage `json:"time"` // of whatever form: the host has its own
		Step json.RawMessage `json:"step_id"`
	}
	if !utf8.Valid(line) || json.Unmarshal(line, &given) != nil {
		return Event{}, errors.New("it is not a JSON object of an event's shape")
	}
	e := given.Event
	kept := Event{Type: e.Type, Message: Clean(e.Message, MaxMessageBytes)}
	switch e.Type {
	case EventStep:
		return kept.step(e)
	case EventProgress:
		return kept.progress(e)
	case EventCost:
		return kept.cost(e)
	case EventHeartbeat:
		return kept, nil
	}
	return Event{}, errors.New("its type must be step, progress, cost or heartbeat")
}

func (kept Event) step(e Event) (Event, error) {
	kept.Name, kept.Status = Clean(e.Name, maxEventText), e.Status
	if kept.Status == "" {
		kept.Status = "started"
	}
	switch {
	case strings.TrimSpace(kept.Name) == "":
		return Event{}, errors.New("a step has a name")
	case kept.Status != "started" && kept.Status != "done" && kept.Status != "failed" && kept.Status != "skipped":
		return Event{}, errors.New("a step's status must be started, done, failed or skipped")
	}
	return kept, nil
}

func (kept Event) progress(e Event) (Event, error) {
	kept.Percent = e.Percent
	switch {
	case e.Percent == nil && kept.Message == "":
		return Event{}, errors.New("progress has a percent or a message")
	case e.Percent != nil && (math.IsNaN(*e.Percent) || *e.Percent < 0 || *e.Percent > 100):
		return Event{}, errors.New("percent must be between 0 and 100")
	}
	return kept, nil
}

func (kept Event) cost(e Event) (Event, error) {
	kept.Amount, kept.Currency, kept.Model = e.Amount, e.Currency, Clean(e.Model, maxEventText)
	kept.InputTokens, kept.OutputTokens = e.InputTokens, e.OutputTokens
	if kept.Amount != nil && kept.Currency == "" {
		kept.Currency = "USD"
	}
	switch {
	case e.Amount == nil && e.InputTokens == nil && e.OutputTokens == nil:
		return Event{}, errors.New("cost has an amount, input_tokens or output_tokens")
	case e.Amount != nil && *e.Amount < 0, negative(e.InputTokens), negative(e.OutputTokens):
		return Event{}, errors.New("a cost is not negative")
	case kept.Currency != "" && !isCurrency(kept.Currency):
		return Event{}, errors.New("currency must be three capital letters")
	}
	return kept, nil
}

func negative(n *int64) bool { return n != nil && *n < 0 }

func isCurrency(s string) bool {
	return len(s) == 3 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}
