//go:build linux

package webdriver_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/bridge/bridgetest"
	"github.com/phonebooth-dev/phonebooth/bridge/webdriver"
)

// fakes are programs that know their versions and nothing else.
type fakes struct{ dir, driver, browser string }

func fake(t testing.TB) fakes {
	t.Helper()
	dir := shortDir(t)
	f := fakes{dir, filepath.Join(dir, "driver"), filepath.Join(dir, "browser")}
	f.say(t, f.driver, "ChromeDriver 156.0.1")
	f.say(t, f.browser, "Chromium 156.0.2")
	return f
}

func (f fakes) say(t testing.TB, path, what string) {
	t.Helper()
	f.put(t, path, "#!/bin/sh\necho '"+what+"'\n")
}

// put makes a script the program at path.
func (f fakes) put(t testing.TB, path, script string) {
	t.Helper()
	fresh := path + ".new" // one that is written to cannot be run
	if err := os.WriteFile(fresh, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(fresh, path); err != nil {
		t.Fatal(err)
	}
}

func (f fakes) bridge(t testing.TB) bridge.Bridge {
	t.Helper()
	b, err := webdriver.New(webdriver.Options{Devices: 2, Chromedriver: f.driver, Chromium: f.browser, Dir: f.dir, LookAgain: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestContract(t *testing.T) {
	t.Parallel()
	var made sync.Map // fakes by bridge
	of := func(b bridge.Bridge) fakes {
		f, _ := made.Load(b)
		return f.(fakes)
	}
	bridgetest.Run(t, bridgetest.Harness{
		New: func(t *testing.T) bridge.Bridge {
			programs := fake(t)
			b := programs.bridge(t)
			made.Store(b, programs)
			return b
		},
		Lose: func(t *testing.T, b bridge.Bridge, _ string) {
			if err := os.Remove(of(b).browser); err != nil {
				t.Fatal(err)
			}
		},
		Back: func(t *testing.T, b bridge.Bridge, _ string) {
			of(b).say(t, of(b).browser, "Chromium 156.0.3")
		},
	})
}

// A look that fails for want of anything must not cost a lease the phone that it drives.
func TestOneLookThatFailsLosesNoPhone(t *testing.T) {
	t.Parallel()
	f := fake(t)
	once := filepath.Join(f.dir, "once")
	f.put(t, f.browser, "#!/bin/sh\nrm "+once+" 2>/dev/null && exit 1\necho Chromium 156.0.2\n")
	b := f.bridge(t)
	w := bridgetest.Watch(t, b)
	is := func(condition phonebooth.Condition) {
		t.Helper()
		w.Until(t, string(condition), func(list []bridge.Device) bool { return len(list) == 2 && list[0].Condition == condition })
	}
	is(phonebooth.Ready)
	access, err := b.Open(t.Context(), "phone-1", bridge.Lease{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(once, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	is(phonebooth.Unhealthy)
	is(phonebooth.Ready)
	if err := access.Probe(t.Context()); err != nil {
		t.Errorf("probing after one look in vain: %v, want a phone that is there", err)
	}
	if err := os.Remove(f.browser); err != nil {
		t.Fatal(err)
	}
	is(phonebooth.Offline)
	if err := access.Probe(t.Context()); !errors.Is(err, bridge.ErrGone) {
		t.Errorf("probing without a browser: %v, want ErrGone", err)
	}
	if err := access.Close(t.Context()); err != nil {
		t.Errorf("closing: %v", err)
	}
}

func TestPhonesSayWhatTheyAreAndWhatTheyLack(t *testing.T) {
	t.Parallel()
	f := fake(t)
	w := bridgetest.Watch(t, f.bridge(t))
	is := func(condition phonebooth.Condition, say ...string) {
		t.Helper()
		w.Until(t, string(condition), func(list []bridge.Device) bool {
			return len(list) == 2 && !slices.ContainsFunc(say, func(s string) bool { return !strings.Contains(list[1].Reason, s) }) && list[1].Condition == condition
		})
	}
	is(phonebooth.Ready)
	list := w.Until(t, "the tags", func(list []bridge.Device) bool { return len(list) == 2 })
	d := list[1]
	if d.Key != "phone-2" || d.DriverType != "webdriver" || d.Attributes["browser"] != "Chromium 156.0.2" || d.Attributes["viewport"] != "412x915" {
		t.Errorf("device %+v", d)
	}
	for _, tag := range []string{"webdriver", "mobile", "browser:chromium", "chromium:156"} {
		if !slices.Contains(d.Tags, tag) {
			t.Errorf("tags %q, want %q among them", d.Tags, tag)
		}
	}
	f.say(t, f.driver, "ChromeDriver 155.0.1")
	is(phonebooth.Unhealthy, "ChromeDriver 155.0.1", "Chromium 156.0.2", "same major version")
	f.say(t, f.driver, "come back later")
	is(phonebooth.Unhealthy, f.driver, "does not say what it is")
	if err := os.Remove(f.driver); err != nil {
		t.Fatal(err)
	}
	is(phonebooth.Offline, f.driver, "apt-get install chromium chromium-driver", "setting chromedriver")
	f.say(t, f.driver, "ChromeDriver 156.0.1")
	is(phonebooth.Ready)
}

func TestSettingsThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	for say, settings := range map[string]bridge.Settings{
		"unknown setting \"colour\"": {"colour": "red"},
		"devices must be":            {"devices": "0"},
		"devices must be a":          {"devices": "many"},
		"devices must be a number":   {"devices": "100000"},
		"width and height":           {"width": "-1"},
		"width and":                  {"height": "20000"},
		"pixel_ratio":                {"pixel_ratio": "NaN"},
		"pixel_ratio must":           {"pixel_ratio": "0"},
		"one line":                   {"user_agent": "a\r\nb: c"},
		"leave out width":            {"device": "Pixel 7", "width": "400"},
		"chromium is empty":          {"chromium": " "},
	} {
		if _, err := webdriver.Open(settings); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%v: %v, want a refusal that says %q", settings, err, say)
		}
	}
	if _, err := webdriver.Open(bridge.Settings{"devices": "3", "width": "360", "height": "640", "pixel_ratio": "3", "user_agent": "Tiny/1"}); err != nil {
		t.Errorf("good settings: %v", err)
	}
}
