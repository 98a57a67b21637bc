package webui

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestModulesThatNeedNoPage runs what of the page's modules touches no page in Node.js.
func TestModulesThatNeedNoPage(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("node is needed: %v", err)
		}
		t.Skipf("node is not here: %v", err)
	}
	tests, err := filepath.Glob("testdata/*.test.mjs")
	if err != nil || len(tests) == 0 {
		t.Fatalf("find the tests: %v, %v", tests, err)
	}
	out, err := exec.CommandContext(t.Context(), node, append([]string{"--test"}, tests...)...).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
