//go:build linux

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// appiumApp is what the fake driver shows, and appiumSuite a test of it: one session from its beginning to its end.
const (
	appiumApp   = `<app title="A phone that is not there" width="540" height="1200"><button id="open" visible="true">Open</button></app>`
	appiumSuite = `
const call = async (method, path, body) => {
  const answer = await fetch(process.env.APPIUM_URL + path, {method, body: body && JSON.stringify(body), headers: {'content-type': 'application/json'}})
  const {value} = await answer.json()
  if (!answer.ok) throw new Error(method + ' ' + path + ': ' + value.message)
  return value
}
const {sessionId} = await call('POST', '/session', {capabilities: {alwaysMatch: {
  platformName: 'Fake', 'appium:automationName': 'Fake', 'appium:app': process.env.HOME + '/app.xml',
}}})
const element = await call('POST', '/session/' + sessionId + '/element', {using: 'id', value: 'open'})
const shown = await call('GET', '/session/' + sessionId + '/element/' + Object.values(element)[0] + '/displayed')
await call('DELETE', '/session/' + sessionId)
console.log('the button is shown:', shown, 'on', process.env.PHONEBOOTH_SERIAL)
`
)

// appium puts the Appium of the cache into the world, as a user there would have installed it.
func (b *booth) appium(t testing.TB) {
	t.Helper()
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		cache = filepath.Join(os.Getenv("HOME"), ".cache")
	}
	dir := filepath.Join(cache, "phonebooth-appium")
	if _, err := os.Stat(filepath.Join(dir, "complete")); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("there is no Appium in %s; .ci/appium installs it", dir)
		}
		t.Skipf("there is no Appium in %s; .ci/appium installs it", dir)
	}
	// Appium writes into its home where it found its drivers, so each world has a home of its own, with the packages of all.
	own, packages := b.path(".appium"), filepath.Join(dir, "node_modules")
	entries, err := os.ReadDir(packages)
	if err == nil {
		err = os.MkdirAll(filepath.Join(own, "node_modules"), 0o700)
	}
	if err == nil {
		err = os.Symlink(filepath.Join(dir, "package.json"), filepath.Join(own, "package.json"))
	}
	for _, entry := range entries {
		if err == nil && entry.Name() != ".cache" {
			err = os.Symlink(filepath.Join(packages, entry.Name()), filepath.Join(own, "node_modules", entry.Name()))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, entry := range b.env {
		if path, found := strings.CutPrefix(entry, "PATH="); found {
			b.env[i] = "PATH=" + filepath.Join(dir, "node_modules", ".bin") + ":" + path
		}
	}
}

func TestTheAppiumSuiteRunsAgainstARealServer(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	b.appium(t)
	b.write(t, "app.xml", appiumApp)
	b.write(t, "suite.mjs", appiumSuite)
	p := b.dev(t, "--sim", "1", "--adb", "off")
	suite := func(script string) v1.TaskRequest {
		return v1.TaskRequest{Goal: script, Constraints: v1.Constraints{DriverType: "sim", Runner: "appium-suite"}}
	}
	passes := p.submit(t, suite(`node "$HOME/suite.mjs"`))
	p.waitStatus(t, passes, "done")
	log := p.run(t, "task", "log", passes)
	if !strings.Contains(log, "the button is shown: true on sim-1\n") || !strings.Contains(log, "[appium] ") {
		t.Errorf("the log is\n%s\nwant the suite's line, and Appium's with its name", log)
	}

	// The suite's exit code is the task's, and no server is left: newBooth looks for it.
	fails := p.submit(t, suite("exit 3"))
	if task := p.waitStatus(t, fails, "failed"); task.Failure == nil || task.Failure.Code != "runner_failed" {
		t.Errorf("the failure is %+v, want runner_failed", task.Failure)
	}
	cancelled := p.submit(t, suite(`echo begun; sleep 600`))
	eventually(t, "the beginning of the suite", func() bool { return strings.Contains(p.run(t, "task", "log", cancelled), "begun") })
	p.run(t, "task", "cancel", cancelled)
	p.waitStatus(t, cancelled, "cancelled")
	eventually(t, "the end of everything", func() bool { return len(b.runnersOf(cancelled)) == 0 })
}
