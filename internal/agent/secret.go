package agent

import (
	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/agent/mask"
	"github.com/phonebooth-dev/phonebooth/internal/telemetry"
	"github.com/phonebooth-dev/phonebooth/runner"
)

// maskOf hides every secret of the host, also from logs of programs that did not get it.
func maskOf(secrets map[string]telemetry.Secret) *mask.Mask {
	var values []string
	for _, secret := range secrets {
		values = append(values, secret.Reveal())
	}
	return mask.New(values...)
}

// secretsFor are the variables that a runner gets of the host's secrets. The error is for people, and names what is missing.
func (a *Agent) secretsFor(chosen runner.Registration) ([]string, error) {
	var env []string
	for _, name := range chosen.Secrets {
		secret, ok := a.options.Secrets[name]
		if why := a.options.Without[name]; why != "" {
			return nil, phonebooth.Errorf(phonebooth.Invalid, "credentials", "the runner %s needs the secret %s, which this host cannot have: %s", chosen.Name, name, why)
		}
		if !ok {
			return nil, phonebooth.Errorf(phonebooth.Invalid, "credentials",
				"the runner %s needs the secret %s, which this host does not have; set secrets.%s in the configuration of its agent", chosen.Name, name, name)
		}
		env = append(env, name+"="+secret.Reveal())
	}
	return env, nil
}
