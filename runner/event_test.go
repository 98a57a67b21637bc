package runner_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/phonebooth-dev/phonebooth/runner"
)

func TestAnEventKeepsWhatBelongsToItsType(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, want string }{
		{`{"type":"step","name":"open the app","status":"done","percent":3,"mine":{}}`, `{"type":"step","name":"open the app","status":"done"}`},
		{`{"type":"step","name":"tap"}`, `{"type":"step","name":"tap","status":"started"}`},
		{`{"type":"progress","percent":40,"message":"half"}`, `{"type":"progress","message":"half","percent":40}`},
		{`{"type":"cost","amount":0.02,"model":"m"}`, `{"type":"cost","amount":0.02,"currency":"USD","model":"m"}`},
		{`{"type":"cost","input_tokens":5,"output_tokens":0}`, `{"type":"cost","input_tokens":5,"output_tokens":0}`},
		{`{"type":"heartbeat","time":12,"step_id":["x"]}`, `{"type":"heartbeat"}`},
		{`{"type":"heartbeat","message":"a\u0000b"}`, "{\"type\":\"heartbeat\",\"message\":\"a\uFFFDb\"}"},
	} {
		e, err := runner.ParseEvent([]byte(c.line))
		if err != nil {
			t.Errorf("ParseEvent(%s) = %v", c.line, err)
			continue
		}
		if got, err := json.Marshal(e); string(got) != c.want || err != nil {
			t.Errorf("ParseEvent(%s) = %s, want %s", c.line, got, c.want)
		}
	}
}

// badEvents are lines that are no events.
func badEvents() []string {
	return []string{
		``, `null`, `[]`, `"step"`, `{`, `{}`, `{"type":"note"}`, `{"type":1}`, "{\"type\":\"heartbeat\",\"message\":\"\xff\"}",
		`{"type":"step"}`, `{"type":"step","name":" "}`, `{"type":"step","name":"x","status":"begun"}`,
		`{"type":"progress"}`, `{"type":"progress","percent":101}`, `{"type":"progress","percent":"40"}`,
		`{"type":"cost"}`, `{"type":"cost","amount":-1}`, `{"type":"cost","amount":1,"currency":"euro"}`, `{"type":"cost","input_tokens":-1}`,
		`{"type":"heartbeat","message":"` + strings.Repeat("x", runner.MaxEventBytes) + `"}`,
	}
}

func TestWhatIsNoEventIsRefusedWithoutItsContent(t *testing.T) {
	t.Parallel()
	for _, line := range badEvents() {
		e, err := runner.ParseEvent([]byte(line))
		if err == nil {
			t.Errorf("ParseEvent(%.60q) = %+v, want it refused", line, e)
		} else if len(err.Error()) > 100 {
			t.Errorf("ParseEvent(%.60q) = %v, want a short reason", line, err)
		}
	}
}
