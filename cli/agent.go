package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/client"
	"github.com/phonebooth-dev/phonebooth/internal/agent"
)

func (p *program) agent() *cobra.Command {
	cmd := &cobra.Command{
		Use: "agent", Short: "Run a Host Agent: offer this machine's devices to a server", Args: takes(),
		Long: "Runs a Host Agent: it tells a server which devices this machine has, asks for tasks, and runs them. At its first start it " +
			"needs a token of phonebooth host enroll; afterwards its data directory says which host it is.\n\n" +
			"--config FILE is YAML with the names of the flags, underscores for hyphens, and with this host's own runners; flags go first. " +
			"A runner is a program and its arguments: {goal} stands for the task's goal and {serial} for the device. The first runner for a " +
			"driver type is its default:\n\n" +
			"  runners:\n" +
			"    - name: phone-agent\n" +
			"      drivers: [android]\n" +
			"      argv: [phone-agent, \"--serial={serial}\", --, \"{goal}\"]\n" +
			"      env: {MODEL: small}\n" +
			"      stop: {signal: INT, grace: 10s, term_grace: 2s}   # then TERM, then KILL\n" +
			"      exit_codes: {3: try_again}\n" +
			"  presets: [/etc/phonebooth/presets]   # files of the same fields, and directories of such files\n" +
			"  presets_off: [shell]                 # of those that ship\n\n" +
			"A runner that names secrets gets them as variables; their values are hidden in all that leaves the host:\n\n" +
			"  secrets:\n" +
			"    API_KEY: {file: /etc/phonebooth/api-key}   # or {env: VARIABLE}, of the agent's environment\n\n" +
			"devices corrects what is said of single devices, by key or serial number; off keeps one out of the pool. Programs under " +
			"cleanup are run on a device after each attempt, like runners; it is unhealthy until they end with exit code 0:\n\n" +
			"  devices:\n" +
			"    R5CT1234567: {tags: [5g], without_tags: [\"model:SM-S901B\"]}\n" +
			"    emulator-5554: {off: true}\n" +
			"  cleanup:\n" +
			"    - {name: wipe, argv: [/etc/phonebooth/wipe, \"{serial}\"], drivers: [android], timeout: 30s}",
		Example: `phonebooth agent --server https://phones:8420 --enroll-file token
phonebooth agent --server https://phones:8420 --adb off --sim 4
phonebooth agent --config agent.yaml`,
	}
	s := defaultAgent()
	s.bind(cmd.Flags())
	file := configFlag(cmd)
	enroll := cmd.Flags().String("enroll", "", "enrollment token; it works once, and others may see it in the process list: better --enroll-file")
	takeOver := cmd.Flags().Bool("take-over", false, "replace another agent that runs as this host")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := settled(cmd, *file, s, defaultAgent(), (*agentSettings).bind)
		if err != nil {
			return err
		}
		if *enroll != "" && s.EnrollFile != "" {
			return usage(cmd, "--enroll and --enroll-file exclude each other")
		}
		return p.runAgent(cmd, s, *enroll, *takeOver)
	}
	return cmd
}

func (p *program) runAgent(cmd *cobra.Command, s agentSettings, enroll string, takeOver bool) (err error) {
	address, err := serverURL(cmp.Or(s.Server, os.Getenv(envServer)))
	if err != nil {
		return usage(cmd, "--server: %w", err)
	}
	if s.Data == "" {
		return usage(cmd, "the data directory is missing")
	}
	bridges, err := s.Host.bridges(p.opts.Bridges)
	if err != nil {
		return cannotStart(cmd, err)
	}
	log := s.Logs.logger(cmd.ErrOrStderr())
	runners, err := s.Host.Presets.offered(p.opts.Runners, log)
	if err != nil {
		return usage(cmd, "%w", err)
	}
	secrets, without := s.Host.Secrets.ready(log)
	hooks, err := s.Host.Cleanup.hooks()
	if err != nil {
		return usage(cmd, "%w", err)
	}
	home, err := agent.OpenHome(s.Data)
	if err != nil {
		return cannotStart(cmd, err)
	}
	defer func() { err = errors.Join(err, home.Close()) }()
	id, err := p.identity(cmd, home, address, s, enroll)
	if err != nil {
		return err
	}
	c, err := client.New(address, id.Secret.Reveal(), client.Options{UserAgent: "phonebooth-agent/" + p.opts.Version})
	if err != nil {
		return err
	}
	a, err := agent.New(home, c.Agent(string(id.HostID)), bridges, runners, agent.Options{
		Version: p.opts.Version, TakeOver: takeOver, Log: log, Secrets: secrets, Without: without, Cleanup: hooks,
	})
	if err != nil {
		return err
	}
	defer s.Host.Devices.sayUnseen(bridges, log)()
	say(cmd, "phonebooth agent: %s of %s", id.HostID, address)
	return agentEnding(a.Run(cmd.Context()), s.Data)
}

// identity is which host this machine is; at the first start it becomes one.
func (p *program) identity(cmd *cobra.Command, home *agent.Home, address string, s agentSettings, enroll string) (agent.Identity, error) {
	if id, ok := home.Identity(); ok {
		return id, nil
	}
	if s.EnrollFile != "" {
		var err error
		if enroll, err = tokenIn(cmd, s.EnrollFile); err != nil {
			return agent.Identity{}, err
		}
	}
	if enroll == "" {
		return agent.Identity{}, &failure{
			status: exitUsage, err: errors.New("this machine is no host yet, and there is no enrollment token"),
			next: []string{"make a token: phonebooth host enroll", "then give it with --enroll-file FILE"},
		}
	}
	name, err := hostName(s.Name)
	if err != nil {
		return agent.Identity{}, usage(cmd, "%w", err)
	}
	c, err := client.New(address, "", client.Options{UserAgent: "phonebooth-agent/" + p.opts.Version})
	if err != nil {
		return agent.Identity{}, err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), longPatience)
	defer cancel()
	id, err := home.Enroll(ctx, c, enroll, name)
	if phonebooth.CodeOf(err) == "unauthenticated" {
		return id, &failure{status: exitRefused, err: err, next: []string{
			"a token works once, within an hour",
		}}
	}
	return id, err
}

// hostName is the name that was given, or this machine's own made fit.
func hostName(given string) (string, error) {
	if given != "" {
		if !phonebooth.ValidName(given) {
			return "", errors.New("--name must be 1 to 63 letters, digits, dots, underscores and hyphens")
		}
		return given, nil
	}
	own, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("find this machine's name; give one with --name: %w", err)
	}
	own = strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, own)
	own = strings.TrimLeft(own[:min(len(own), 63)], ".-_")
	if !phonebooth.ValidName(own) {
		return "", errors.New("this machine's name cannot be a host's; give one with --name")
	}
	return own, nil
}

// agentEnding says what to do when a server has ended an agent.
func agentEnding(err error, data string) error {
	switch {
	case errors.Is(err, agent.ErrSuperseded):
		return &failure{status: exitRefused, err: err, next: []string{"everything it ran was stopped; one agent runs a host"}}
	case phonebooth.CodeOf(err) == "host_identity_conflict":
		return &failure{status: exitRefused, err: err, next: []string{
			"if this machine shall be the host from now on: start the agent once with --take-over",
		}}
	case phonebooth.CodeOf(err) == "unauthenticated":
		return &failure{status: exitRefused, err: err, next: []string{
			"the server does not know this host any more, or it is another server",
			"to become a new host: remove " + data + " and enroll again",
		}}
	}
	return err
}
