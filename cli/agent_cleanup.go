package cli

import (
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/agent"
)

// cleanupSettings are programs of a host's own that put a device in order after each attempt, in their order.
type cleanupSettings []struct {
	Name    string        `yaml:"name"`
	Argv    []string      `yaml:"argv"`
	Drivers []string      `yaml:"drivers"`
	Timeout time.Duration `yaml:"timeout"`
}

// longestCleanup bounds one of them: a device is idle meanwhile.
const longestCleanup = time.Hour

// hooks are the settings as the agent takes them.
func (s cleanupSettings) hooks() ([]agent.Hook, error) {
	var hooks []agent.Hook
	taken := map[string]bool{}
	for i, h := range s {
		refuse := func(message string, args ...any) error {
			return phonebooth.Errorf(phonebooth.Invalid, "invalid", "cleanup[%d]: "+message, append([]any{i}, args...)...)
		}
		switch {
		case !phonebooth.ValidName(h.Name):
			return nil, refuse("name must be 1 to 63 letters, digits, dots, underscores and hyphens")
		case taken[h.Name]:
			return nil, refuse("the name %s is taken by another one", h.Name)
		case len(h.Argv) == 0 || h.Argv[0] == "":
			return nil, refuse("argv is missing: the program and its arguments")
		case h.Timeout < 0 || h.Timeout > longestCleanup:
			return nil, refuse("timeout must be between 0 and %v; left out it is %v", longestCleanup, agent.DefaultHookTimeout)
		}
		for _, driver := range h.Drivers {
			if !phonebooth.ValidName(driver) {
				return nil, refuse("drivers: each must be 1 to 63 letters, digits, dots, underscores and hyphens")
			}
		}
		taken[h.Name] = true
		hooks = append(hooks, agent.Hook{Name: h.Name, Argv: h.Argv, Drivers: h.Drivers, Timeout: h.Timeout})
	}
	return hooks, nil
}
