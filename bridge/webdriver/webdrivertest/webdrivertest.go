// Package webdrivertest is for tests that need a real Chromium. It knows nothing of how one is driven.
//
//	webdrivertest.Need(t)
package webdrivertest

import (
	"os"
	"os/exec"
	"testing"
)

// Need skips t on a machine that lacks Chromium or chromedriver. With CI=true that is a failure.
func Need(t testing.TB) {
	t.Helper()
	for _, name := range []string{"chromedriver", "chromium"} {
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("%s is missing; Debian has it: make install", name)
			}
			t.Skipf("%s is missing; Debian has it: make install", name)
		}
	}
}
