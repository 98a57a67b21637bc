package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/phonebooth-dev/phonebooth/internal/agent/mask"
	"github.com/phonebooth-dev/phonebooth/internal/telemetry"
)

// secretSettings say where a host's secrets are, by name. The values stand nowhere in its configuration.
type secretSettings map[string]secretSource

// secretSource is one of a file and a variable of the agent's environment.
type secretSource struct {
	File string `yaml:"file"`
	Env  string `yaml:"env"`
}

// maxSecret is how long a secret may be: it has to fit into a program's environment.
const maxSecret = 64 << 10

var secretName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}$`)

// read reads all secrets. Of each one that cannot be had, without says why: it costs the runners that name it, and nothing else.
func (s secretSettings) read() (secrets map[string]telemetry.Secret, without map[string]string) {
	secrets, without = map[string]telemetry.Secret{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		value, err := s[name].value()
		if !secretName.MatchString(name) || strings.HasPrefix(name, "PHONEBOOTH_") {
			err = errors.New("a name is 1 to 63 letters, digits and underscores, begins with no digit, and not with PHONEBOOTH_")
		}
		if err != nil {
			without[name] = err.Error()
			continue
		}
		secrets[name] = telemetry.NewSecret(value)
	}
	return secrets, without
}

// ready is read for an agent that starts: log is told of each secret that cannot be had.
func (s secretSettings) ready(log *slog.Logger) (secrets map[string]telemetry.Secret, without map[string]string) {
	secrets, without = s.read()
	for _, name := range slices.Sorted(maps.Keys(without)) {
		log.Error("secret cannot be had; every task of a runner that names it fails", "secret", name, "reason", without[name])
	}
	return secrets, without
}

// lacks says which of names a runner would not get, and why; "" if it gets them all.
func (s secretSettings) lacks(names []string, without map[string]string) string {
	var all []string
	for _, name := range names {
		if _, named := s[name]; !named {
			all = append(all, "there is no secret "+name)
		} else if why := without[name]; why != "" {
			all = append(all, "secrets."+name+": "+why)
		}
	}
	return strings.Join(all, "; ")
}

// value is the secret itself. Of a file it is all but one end of line at its end.
func (s secretSource) value() (string, error) {
	var value, where string
	switch {
	case (s.File == "") == (s.Env == ""):
		return "", errors.New("it needs either file: PATH or env: VARIABLE")
	case s.Env != "":
		value, where = os.Getenv(s.Env), "the variable "+s.Env
	default:
		text, err := secretIn(s.File)
		if err != nil {
			return "", err
		}
		value, where = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r"), "the file "+s.File
	}
	switch {
	case value == "":
		return "", fmt.Errorf("%s is empty; set it where the agent is started", where)
	case len(value) < mask.MinBytes:
		return "", fmt.Errorf("%s holds less than %d bytes, which cannot be hidden: they are found in everything", where, mask.MinBytes)
	case len(value) > maxSecret:
		return "", fmt.Errorf("%s holds more than %d bytes", where, maxSecret)
	case strings.ContainsRune(value, 0):
		return "", fmt.Errorf("%s holds a NUL byte", where)
	}
	return value, nil
}

func secretIn(path string) (string, error) {
	file, err := os.Open(filepath.Clean(path))
	if err != nil {
		return "", fmt.Errorf("its file cannot be read: %w", err)
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return "", fmt.Errorf("its file cannot be read: %s is a directory", path)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxSecret+2)) // and the end of the line
	if err != nil {
		return "", fmt.Errorf("its file cannot be read: %w", err)
	}
	return string(text), nil
}
