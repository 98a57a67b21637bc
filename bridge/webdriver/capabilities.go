package webdriver

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
)

// refusal is an answer of the gate's own, in the form of the protocol.
type refusal struct {
	status  int
	code    string // one of the protocol's
	message string
}

func (r *refusal) Error() string { return r.code + ": " + r.message }

func invalid(format string, args ...any) error {
	return &refusal{http.StatusBadRequest, "invalid argument", fmt.Sprintf(format, args...)}
}

// The capability that holds what is Chromium's own.
const optionsName = "goog:chromeOptions"

// The options that a client may set, and those that it may name, to no effect: they are the gate's.
var (
	theirOptions = []string{"args", "enableExtensionTargets", "excludeSwitches", "extensions", "localState", "perfLoggingPrefs", "prefs", "windowTypes"}
	ourOptions   = []string{"binary", "detach", "mobileEmulation"}
)

// ourSwitches are command-line switches of Chromium that a client may name, to no effect: they are the gate's.
var ourSwitches = []string{
	"crash-dumps-dir", "database", "headless", "no-sandbox", "disable-setuid-sandbox", "user-agent", "user-data-dir",
	"remote-allow-origins", "remote-debugging-address", "remote-debugging-pipe", "remote-debugging-port", "remote-debugging-io-pipes",
	"remote-debugging-socket-name", "remote-debugging-targets",
}

var switchName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_-]*$`)

// chromium is how browsers are started.
type chromium struct {
	binary    string
	emulation map[string]any
	root      bool // Chromium's sandbox does not work for root
}

func newChromium(p programs, phone Phone) chromium {
	return chromium{
		binary: p.browser.path, emulation: phone.whole(p.browser.major()).emulation(), root: os.Geteuid() == 0,
	}
}

// merge makes of a client's command for a new browser the one that chromedriver gets: what the gate decides is put over
// what the client asks for, in every alternative that it offers. Everything that may be asked for stays as it is; the rest is
// refused, or dropped where clients ask for it without meaning it.
func (c chromium) merge(body []byte, profile string) ([]byte, error) {
	var command map[string]json.RawMessage
	if err := json.Unmarshal(body, &command); err != nil {
		return nil, invalid("the command is no JSON object")
	}
	if isNull(command["capabilities"]) {
		return nil, invalid("the command has no capabilities; desiredCapabilities alone are not WebDriver")
	}
	var asked map[string]json.RawMessage
	if err := json.Unmarshal(command["capabilities"], &asked); err != nil {
		return nil, invalid("capabilities must be an object")
	}
	always, err := object(asked["alwaysMatch"], "capabilities.alwaysMatch")
	if err != nil {
		return nil, err
	}
	first := []json.RawMessage{nil}
	if !isNull(asked["firstMatch"]) {
		if err := json.Unmarshal(asked["firstMatch"], &first); err != nil || len(first) == 0 {
			return nil, invalid("capabilities.firstMatch must be a list of one object at least")
		}
	}
	common, inAlways := always[optionsName]
	delete(always, optionsName)
	delete(always, "webSocketUrl")
	alternatives := make([]map[string]json.RawMessage, len(first))
	for i, raw := range first {
		name := fmt.Sprintf("capabilities.firstMatch[%d]", i)
		one, err := object(raw, name)
		if err != nil {
			return nil, err
		}
		options, inThis := one[optionsName]
		if inThis && inAlways {
			return nil, invalid("%s repeats %s of alwaysMatch", name, optionsName)
		}
		if inAlways {
			options = common
		}
		delete(one, "webSocketUrl")
		if one[optionsName], err = c.options(options, profile); err != nil {
			return nil, err
		}
		alternatives[i] = one
	}
	return json.Marshal(map[string]any{"capabilities": map[string]any{"alwaysMatch": always, "firstMatch": alternatives}})
}

// options puts the gate's part over a client's options.
func (c chromium) options(raw json.RawMessage, profile string) (json.RawMessage, error) {
	theirs, err := object(raw, optionsName)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		switch {
		case slices.Contains(theirOptions, name):
		case slices.Contains(ourOptions, name), name == "w3c" && string(theirs[name]) == "true":
			delete(theirs, name)
		default:
			return nil, invalid("%s may not hold %q; there are: %s", optionsName, name, strings.Join(theirOptions, ", "))
		}
	}
	args, err := c.args(theirs["args"], profile)
	if err != nil {
		return nil, err
	}
	merged := map[string]any{}
	for name, value := range theirs {
		merged[name] = value
	}
	merged["args"], merged["binary"], merged["mobileEmulation"] = args, c.binary, c.emulation
	return json.Marshal(merged)
}

// args is a client's command line without what is the gate's, and what the gate says instead.
func (c chromium) args(raw json.RawMessage, profile string) ([]string, error) {
	var asked []string
	if !isNull(raw) {
		if err := json.Unmarshal(raw, &asked); err != nil {
			return nil, invalid("args of %s must be a list of strings", optionsName)
		}
	}
	args := []string{}
	for _, arg := range asked {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if !switchName.MatchString(name) || strings.ContainsRune(arg, 0) {
			return nil, invalid("args of %s must be switches of Chromium, as name or name=value", optionsName)
		}
		if !slices.Contains(ourSwitches, name) {
			args = append(args, arg)
		}
	}
	// Without a DevTools port nobody reaches the browser past the gate; with the pipe it ends when chromedriver does.
	args = append(args, "--headless=new", "--remote-debugging-pipe", "--user-data-dir="+profile, "--disable-dev-shm-usage",
		"--disable-component-update")
	if c.root {
		args = append(args, "--no-sandbox")
	}
	return args, nil
}

// object reads an object that may be left out.
func object(raw json.RawMessage, name string) (map[string]json.RawMessage, error) {
	read := map[string]json.RawMessage{}
	if isNull(raw) {
		return read, nil
	}
	if err := json.Unmarshal(raw, &read); err != nil {
		return nil, invalid("%s must be an object", name)
	}
	return read, nil
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }
