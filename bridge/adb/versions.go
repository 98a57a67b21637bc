package adb

import (
	"context"
	"fmt"
	"time"
)

// versions are those of the adb server and of this host's adb program, by the last number of "1.0.41"; 0 is not known.
type versions struct{ server, program int }

// attrConflict is the attribute that tells of a server of another version than the host's adb program.
const attrConflict = "adb_conflict"

// conflict says for people how the versions differ, "" when they do not.
func (v versions) conflict() string {
	if v.server == 0 || v.program == 0 || v.server == v.program {
		return ""
	}
	return fmt.Sprintf("the adb server is 1.0.%d, this host's adb program is 1.0.%d", v.server, v.program)
}

// compareVersions asks for the versions from time to time, and soon when the list of devices changes: the server may be another.
func (w *watch) compareVersions(ctx context.Context) {
	if w.comparing || time.Now().Before(w.compare) {
		return
	}
	w.comparing = true
	w.asked.Go(func() {
		var v versions
		var err error
		if v.server, err = w.bridge.client.Version(ctx); err == nil {
			v.program, err = w.bridge.client.ProgramVersion(ctx)
		}
		if err != nil {
			v = versions{server: v.server} // no server, or no program: nothing to differ
		}
		select {
		case w.compared <- v:
		case <-ctx.Done():
		}
	})
}

// versions takes what the versions are, and tells of a conflict once.
func (w *watch) versions(v versions) {
	w.comparing, w.compare = false, time.Now().Add(checkEvery)
	if v.server == 0 {
		w.compare = time.Now().Add(checkAgain)
	}
	w.bridge.mu.Lock()
	w.bridge.versions = v
	w.bridge.mu.Unlock()
	if w.conflict == v.conflict() {
		return
	}
	if w.conflict = v.conflict(); w.conflict != "" {
		w.bridge.log.Warn("adb versions differ; the server is used as it is, and nothing is killed", attrConflict, w.conflict)
	}
	w.tell()
}
