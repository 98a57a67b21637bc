package runner

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// passed names the variables of the host that a program gets. Nothing else of the host's environment reaches it, so a
// token in the agent's environment stays there.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR",
	"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR",
	"ANDROID_HOME", "ANDROID_SDK_ROOT", "ANDROID_USER_HOME", "JAVA_HOME",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
}

// own starts the names that belong to the contract: neither configuration nor bridge can set them.
const own = "PHONEBOOTH_"

// Environ is a program's whole environment: of host, what is on the list; then each of more in turn; then the contract's own
// variables. A later value of a name replaces an earlier one. The cookie is added by whoever starts the program.
func Environ(host []string, w Work, p Place, more ...[]string) []string {
	e := environment{}
	for _, entry := range host {
		name, _, _ := strings.Cut(entry, "=")
		if slices.Contains(passed, name) || strings.HasPrefix(name, "LC_") {
			e.set(entry)
		}
	}
	for _, entries := range more {
		for _, entry := range entries {
			if !strings.HasPrefix(entry, own) {
				e.set(entry)
			}
		}
	}
	e.set("PWD=" + p.Dir)
	for name, value := range map[string]string{
		"TASK_ID": string(w.TaskID), "ATTEMPT": strconv.Itoa(w.Attempt), "GOAL": w.Goal, "DEVICE_ID": string(w.DeviceID),
		"SERIAL": w.Serial, "INPUT": p.Input, "RESULT": p.Result, "EVENTS": p.Events, "ARTIFACTS": p.Artifacts,
		"OUTPUTS": p.Outputs, "PORT_BASE": strconv.Itoa(w.PortBase),
	} {
		e.set(own + name + "=" + value)
	}
	for _, name := range slices.Sorted(maps.Keys(w.With)) {
		e.set(own + "WITH_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "=" + w.With[name])
	}
	if !w.Deadline.IsZero() {
		e.set(own + "DEADLINE=" + w.Deadline.UTC().Format(time.RFC3339))
	}
	return e.list()
}

// environment is entries by name.
type environment map[string]string

func (e environment) set(entry string) {
	if name, _, found := strings.Cut(entry, "="); found && name != "" {
		e[name] = entry
	}
}

func (e environment) list() []string {
	entries := make([]string, 0, len(e))
	for _, entry := range e {
		entries = append(entries, entry)
	}
	slices.Sort(entries)
	return entries
}
