package webdriver

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// user is Chromium for somebody who is not root.
var user = chromium{binary: "/usr/bin/chromium", emulation: Phone{}.whole("156").emulation()}

// merged is a command for chromedriver, as far as tests look at it.
type merged struct {
	Capabilities struct {
		AlwaysMatch map[string]json.RawMessage   `json:"alwaysMatch"`
		FirstMatch  []map[string]json.RawMessage `json:"firstMatch"`
	} `json:"capabilities"`
}

type mergedOptions struct {
	Args            []string
	Binary          string
	MobileEmulation struct{ DeviceMetrics struct{ Width int } }
	Prefs           any
}

func readMerged(t testing.TB, text []byte) (merged, []mergedOptions) {
	t.Helper()
	var m merged
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var all []mergedOptions
	for _, first := range m.Capabilities.FirstMatch {
		var o mergedOptions
		if err := json.Unmarshal(first[optionsName], &o); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		all = append(all, o)
	}
	return m, all
}

var ours = []string{"--headless=new", "--remote-debugging-pipe", "--user-data-dir=/place/profile", "--disable-dev-shm-usage", "--disable-component-update"}

func TestTheGateDecidesWhatTheBrowserIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, command string
		alternatives  int
		args          []string // of the client that stay
	}{
		{"nothing asked", `{"capabilities":{}}`, 1, nil},
		{"nulls", `{"capabilities":{"alwaysMatch":null,"firstMatch":null}}`, 1, nil},
		{"in alwaysMatch", `{"capabilities":{"alwaysMatch":{"goog:chromeOptions":{"args":["mute-audio"]}}}}`, 1, []string{"mute-audio"}},
		{"in alwaysMatch, for each alternative", `{"capabilities":{"alwaysMatch":{"goog:chromeOptions":{"args":["--lang=de"]}},"firstMatch":[{},{"browserName":"chrome"}]}}`, 2, []string{"--lang=de"}},
		{"in firstMatch", `{"capabilities":{"firstMatch":[{"goog:chromeOptions":{"args":["--lang=de"]}}]}}`, 1, []string{"--lang=de"}},
		{"what is the gate's", `{"desiredCapabilities":{"goog:chromeOptions":{"binary":"/bin/sh"}},"capabilities":{"alwaysMatch":{"webSocketUrl":true,
			"goog:chromeOptions":{"w3c":true,"detach":true,"binary":"/bin/sh","mobileEmulation":{"deviceName":"x"},
			"args":["--headless","no-sandbox","--user-data-dir=/root","remote-debugging-port=9222","--user-agent=x"]}}}}`, 1, nil},
	} {
		text, err := user.merge([]byte(c.command), "/place/profile")
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		m, all := readMerged(t, text)
		if len(all) != c.alternatives || strings.Contains(string(text), "/bin/sh") || strings.Contains(string(text), "webSocketUrl") {
			t.Errorf("%s: %s, want %d alternatives and nothing of what is the gate's", c.name, text, c.alternatives)
		}
		if _, twice := m.Capabilities.AlwaysMatch[optionsName]; twice {
			t.Errorf("%s: the options are in alwaysMatch and in firstMatch", c.name)
		}
		for _, o := range all {
			if diff := cmp.Diff(slices.Concat(c.args, ours), o.Args); diff != "" || o.Binary != user.binary || o.MobileEmulation.DeviceMetrics.Width != commonWidth {
				t.Errorf("%s: %+v, args (-want +got):\n%s", c.name, o, diff)
			}
		}
	}
}

func TestWhatElseAClientAsksForStays(t *testing.T) {
	t.Parallel()
	text, err := user.merge([]byte(`{"capabilities":{"alwaysMatch":{"acceptInsecureCerts":true,"timeouts":{"implicit":12345678901234567890},
		"goog:chromeOptions":{"prefs":{"a.b":1}}},"firstMatch":[{"pageLoadStrategy":"eager"}]}}`), "/place/profile")
	if err != nil {
		t.Fatal(err)
	}
	m, all := readMerged(t, text)
	if got := m.Capabilities.AlwaysMatch; string(got["acceptInsecureCerts"]) != "true" || string(got["timeouts"]) != `{"implicit":12345678901234567890}` {
		t.Errorf("alwaysMatch %s, want it unharmed", text)
	}
	prefs, _ := all[0].Prefs.(map[string]any) // a client may ask for anything
	if got := m.Capabilities.FirstMatch[0]["pageLoadStrategy"]; string(got) != `"eager"` || prefs["a.b"] != 1.0 {
		t.Errorf("firstMatch %s, want it unharmed", text)
	}
}

func TestOnlyRootsBrowserHasNoSandbox(t *testing.T) {
	t.Parallel()
	for _, root := range []bool{false, true} {
		c := user
		c.root = root
		text, err := c.merge([]byte(`{"capabilities":{"alwaysMatch":{"goog:chromeOptions":{"args":["--no-sandbox"]}}}}`), "/place/profile")
		if err != nil {
			t.Fatal(err)
		}
		_, all := readMerged(t, text)
		if got := slices.Contains(all[0].Args, "--no-sandbox"); got != root {
			t.Errorf("root %v: --no-sandbox is there: %v", root, got)
		}
	}
	if got := newChromium(programs{}, Phone{}).root; got != (os.Geteuid() == 0) {
		t.Errorf("root: %v", got)
	}
}

// wrong are commands that are refused, and what of them the refusal names.
var wrong = map[string]string{
	``:                                       "no JSON object",
	`[]`:                                     "no JSON object",
	`{}`:                                     "no capabilities",
	`{"desiredCapabilities":{}}`:             "no capabilities",
	`{"capabilities":[]}`:                    "must be an object",
	`{"capabilities":{"alwaysMatch":1}}`:     "alwaysMatch",
	`{"capabilities":{"firstMatch":[]}}`:     "firstMatch",
	`{"capabilities":{"firstMatch":[{},7]}}`: "firstMatch[1]",
	`{"capabilities":{"alwaysMatch":{"goog:chromeOptions":{"w3c":false}}}}`:                               "w3c",
	`{"capabilities":{"alwaysMatch":{"goog:chromeOptions":{"androidPackage":"com.x"}}}}`:                  "androidPackage",
	`{"capabilities":{"alwaysMatch":{"goog:chromeOptions":{"debuggerAddress":"localhost:1"}}}}`:           "debuggerAddress",
	`{"capabilities":{"alwaysMatch":{"goog:chromeOptions":{"args":"x"}}}}`:                                "args",
	`{"capabilities":{"alwaysMatch":{"goog:chromeOptions":{"args":["--"]}}}}`:                             "args",
	`{"capabilities":{"alwaysMatch":{"goog:chromeOptions":{"args":["http://x"]}}}}`:                       "args",
	`{"capabilities":{"alwaysMatch":{"goog:chromeOptions":{}},"firstMatch":[{"goog:chromeOptions":{}}]}}`: "repeats",
}

func TestCommandsThatReachPastThePhoneAreRefused(t *testing.T) {
	t.Parallel()
	for command, say := range wrong {
		_, err := user.merge([]byte(command), "/place/profile")
		r, ok := errors.AsType[*refusal](err)
		if !ok || r.code != "invalid argument" || !strings.Contains(r.message, say) {
			t.Errorf("%s: %v, want invalid argument, saying %q", command, err, say)
		}
	}
}

// FuzzMerge checks that whatever a client says, chromedriver is told what the gate decides.
func FuzzMerge(f *testing.F) {
	for command := range wrong {
		f.Add([]byte(command))
	}
	f.Add([]byte(`{"capabilities":{"alwaysMatch":{"goog:chromeOptions":{"args":["--lang=de","headless"],"prefs":{}}},"firstMatch":[{},{"a:b":1}]}}`))
	f.Fuzz(func(t *testing.T, command []byte) {
		text, err := user.merge(command, "/place/profile")
		if err != nil {
			if _, ok := errors.AsType[*refusal](err); !ok {
				t.Fatalf("%v is no refusal", err)
			}
			return
		}
		m, all := readMerged(t, text)
		if _, twice := m.Capabilities.AlwaysMatch[optionsName]; twice || len(all) == 0 {
			t.Fatalf("%s: options in alwaysMatch, or nowhere", text)
		}
		for _, o := range all {
			if o.Binary != user.binary || o.MobileEmulation.DeviceMetrics.Width != commonWidth || len(o.Args) < len(ours) || !slices.Equal(o.Args[len(o.Args)-len(ours):], ours) {
				t.Fatalf("%s: not what the gate decides", text)
			}
			for _, arg := range o.Args[:len(o.Args)-len(ours)] {
				name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
				if slices.Contains(ourSwitches, name) || name == "" {
					t.Fatalf("%q came through", arg)
				}
			}
		}
	})
}

func TestTheEnvironmentIsThatOfAListAndOfTheLease(t *testing.T) {
	t.Parallel()
	got := environ([]string{"PATH=/bin", "LC_ALL=C", "TOKEN=hunter2", "HOME=/root", "DISPLAY=:0"}, "/place", []string{"MARK=1"})
	want := []string{
		"HOME=/place/home", "TMPDIR=/place/tmp", "XDG_CONFIG_HOME=/place/home/.config", "XDG_CACHE_HOME=/place/home/.cache",
		"XDG_DATA_HOME=/place/home/.local/share", "PATH=/bin", "LC_ALL=C", "MARK=1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestVersionsAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]program{
		"Chromium 156.0.8078.114 built on Debian GNU/Linux 12 (bookworm)\n": {name: "Chromium", version: "156.0.8078.114"},
		"ChromeDriver 156.0.8078.114 (ea19f9737303-refs/branch-heads/8)\n":  {name: "ChromeDriver", version: "156.0.8078.114"},
		"a warning\nGoogle Chrome 9.0 \n":                                   {name: "Google Chrome", version: "9.0"},
		"install the snap first":                                            {},
		"":                                                                  {},
	} {
		if got, ok := readVersion(text); got != want || ok != (want != program{}) {
			t.Errorf("%q is read as %+v, %v, want %+v", text, got, ok, want)
		}
	}
}
