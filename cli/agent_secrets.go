package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/phonebooth-dev/phonebooth/internal/telemetry"
)

// secretSettings say where a host's secrets are, by name. The values stand nowhere in its configuration.
type secretSettings map[string]secretSource

// missing are those of names that the host does not have.
func (s secretSettings) missing(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { _, ok := s[name]; return ok })
}

// secretSource is one of a file and a variable of the agent's environment.
type secretSource struct {
	File string `yaml:"file"`
	Env  string `yaml:"env"`
}

// maxSecret is how long a secret may be: it has to fit into a program's environment.
const maxSecret = 64 << 10

var secretName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}$`)

// read reads all secrets. The error names each one that cannot be had, and why.
func (s secretSettings) read() (map[string]telemetry.Secret, error) {
	secrets := map[string]telemetry.Secret{}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s)) {
		value, err := s[name].value()
		if !secretName.MatchString(name) || strings.HasPrefix(name, "PHONEBOOTH_") {
			err = errors.New("a name is 1 to 63 letters, digits and underscores, begins with no digit, and not with PHONEBOOTH_")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("secrets.%s: %w", name, err))
			continue
		}
		secrets[name] = telemetry.NewSecret(value)
	}
	return secrets, errors.Join(errs...)
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
		return "", fmt.Errorf("%s is empty", where)
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
