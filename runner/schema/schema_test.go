package schema_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth/internal/schematest"
	"github.com/phonebooth-dev/phonebooth/runner"
	"github.com/phonebooth-dev/phonebooth/runner/schema"
)

// fieldsOf lists the JSON names of a struct, but for those of except.
func fieldsOf(of reflect.Type, except ...string) (names []string) {
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !slices.Contains(except, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestSchemasNameTheFieldsOfTheTypes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"input":  {schema.Input(), fieldsOf(reflect.TypeFor[runner.Input]())},
		"result": {schema.Result(), fieldsOf(reflect.TypeFor[runner.Result]())},
		"event":  {schema.Event(), fieldsOf(reflect.TypeFor[runner.Event](), "time", "step_id")},
	} {
		var document struct{ Properties map[string]any }
		if err := json.Unmarshal([]byte(c.text), &document); err != nil {
			t.Fatal(err)
		}
		var got []string
		for property := range document.Properties {
			got = append(got, property)
		}
		slices.Sort(got)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-type +schema):\n%s", name, diff)
		}
	}
}

func TestWhatPrepareWritesIsAnInput(t *testing.T) {
	t.Parallel()
	s := schematest.Compile(t, schema.Input())
	for name, w := range map[string]runner.Work{
		"least": {TaskID: "task_1", Attempt: 1, Goal: "g", DeviceID: "device_1", DriverType: "sim", Serial: "s", PortBase: runner.FirstPort},
		"most": {
			TaskID: "task_1", Attempt: 3, Step: 2, Steps: 4, StepID: "shot", Try: 2, Goal: "two\nlines \u202E", Inputs: json.RawMessage(`{"a":[1]}`),
			Labels: map[string]string{"ci": "1"}, With: map[string]string{"app-id": "x"}, DeviceID: "device_1", DriverType: "android",
			Serial: "serial 1", Deadline: time.Unix(1700000000, 5000), PortBase: runner.FirstPort + 255*runner.PortsPerSlot,
		},
	} {
		place, err := runner.Prepare(filepath.Join(t.TempDir(), "place"), w)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(place.Input)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.JSON(string(text)); err != nil {
			t.Errorf("%s: %s\n%v", name, text, err)
		}
	}
	for _, text := range []string{`{}`, `[]`, `{"task_id":"t","attempt":0,"goal":"g","device_id":"d","driver_type":"sim","serial":"s","port_base":20000}`} {
		if s.JSON(text) == nil {
			t.Errorf("the schema accepts %s", text)
		}
	}
}

func TestSchemaAndReaderAgreeOnResults(t *testing.T) {
	t.Parallel()
	s := schematest.Compile(t, schema.Result())
	for text, good := range map[string]bool{
		`{"outcome":"done"}`: true,
		`{"outcome":"failed","code":"login_needed","message":"m","result":null}`: true,
		`{"outcome":"abandoned","code":"device_lost","mine":1}`:                  true,
		`{"outcome":"done","code":"","outputs":{"a-b":"1","_c":""}}`:             true,
		`{}`:                                     false,
		`null`:                                   false,
		`[]`:                                     false,
		`{"outcome":"cancelled"}`:                false,
		`{"outcome":"done"`:                      false,
		`{"outcome":"failed","code":"a b"}`:      false,
		`{"outcome":"failed","message":1}`:       false,
		`{"outcome":"done","outputs":{"a":1}}`:   false,
		`{"outcome":"done","outputs":{"1":"x"}}`: false,
		`{"outcome":"done","outputs":["a"]}`:     false,
		`{"outcome":"done","outputs":{"a":"` + "\\u0000" + `"}}`: false,
		`{"outcome":"done","outputs":{` + manyOutputs(65) + `}}`: false,
	} {
		path := filepath.Join(t.TempDir(), "result.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		report, err := runner.ReadResult(path)
		if read := report != nil && err == nil; read != good {
			t.Errorf("ReadResult(%.80s) = %+v, %v, want good = %v", text, report, err, good)
		}
		if err := s.JSON(text); (err == nil) != good {
			t.Errorf("the schema says of %.80s: %v, want good = %v", text, err, good)
		}
	}
}

func manyOutputs(n int) string {
	var all []string
	for i := range n {
		all = append(all, `"n`+string(rune('a'+i/26))+string(rune('a'+i%26))+`":""`)
	}
	return strings.Join(all, ",")
}

func TestSchemaAndReaderAgreeOnEvents(t *testing.T) {
	t.Parallel()
	s := schematest.Compile(t, schema.Event())
	for text, good := range map[string]bool{
		`{"type":"step","name":"open"}`:                                         true,
		`{"type":"step","name":"open","status":"skipped","message":"m","x":[]}`: true,
		`{"type":"progress","percent":0}`:                                       true,
		`{"type":"progress","message":"half"}`:                                  true,
		`{"type":"cost","amount":0.5,"currency":"EUR","model":"m"}`:             true,
		`{"type":"cost","input_tokens":0,"time":17}`:                            true,
		`{"type":"heartbeat","step_id":null}`:                                   true,
		`{"type":"heartbeat","percent":700}`:                                    true, // of another type: ignored
		`{}`:                                                                    false,
		`null`:                                                                  false,
		`{"type":"note"}`:                                                       false,
		`{"type":"step"}`:                                                       false,
		`{"type":"step","name":" "}`:                                            false,
		`{"type":"step","name":"x","status":"begun"}`:                           false,
		`{"type":"progress"}`:                                                   false,
		`{"type":"progress","percent":null}`:                                    false,
		`{"type":"progress","percent":101}`:                                     false,
		`{"type":"progress","percent":"1"}`:                                     false,
		`{"type":"cost"}`:                                                       false,
		`{"type":"cost","amount":-1}`:                                           false,
		`{"type":"cost","amount":1,"currency":"euro"}`:                          false,
		`{"type":"cost","output_tokens":-1}`:                                    false,
		`{"type":"cost","output_tokens":1.5}`:                                   false,
		`{"type":"heartbeat","message":{}}`:                                     false,
		`{"type":"cost","amount":null,"input_tokens":null}`:                     false,
	} {
		_, err := runner.ParseEvent([]byte(text))
		if (err == nil) != good {
			t.Errorf("ParseEvent(%s) = %v, want good = %v", text, err, good)
		}
		if err := s.JSON(text); (err == nil) != good {
			t.Errorf("the schema says of %s: %v, want good = %v", text, err, good)
		}
	}
}
