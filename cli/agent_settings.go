package cli

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/bridge"
)

// agentSettings are the flags of agent, and the keys of its configuration file.
type agentSettings struct {
	Server     string       `yaml:"server"`
	EnrollFile string       `yaml:"enroll_file"`
	Name       string       `yaml:"name"`
	Data       string       `yaml:"data"`
	Host       hostSettings `yaml:",inline"`
	Logs       logSettings  `yaml:",inline"`
}

// hostSettings say which devices a host has and which runners it offers.
type hostSettings struct {
	ADB     string                     `yaml:"adb"`
	Sim     int                        `yaml:"sim"`
	Tags    []string                   `yaml:"tag"`
	Bridges map[string]bridge.Settings `yaml:"bridges"` // further ones, by name
	Presets presetSettings             `yaml:",inline"`
	Secrets secretSettings             `yaml:"secrets"`
	Devices deviceSettings             `yaml:"devices"` // by key, name or serial number
	Cleanup cleanupSettings            `yaml:"cleanup"`
}

// The bridges that flags speak of, and the words of --adb.
const (
	bridgeADB = "adb"
	bridgeSim = "sim"
	adbAuto   = "auto"
	adbOff    = "off"
)

// eitherSettings are the keys of a configuration file that is an agent's or dev's.
type eitherSettings struct {
	Agent    agentSettings `yaml:",inline"`
	Listen   string        `yaml:"listen"`
	Strategy string        `yaml:"strategy"`
	LeaseTTL time.Duration `yaml:"lease_ttl"`
}

// settledForBoth is settled for verbs that look at the configuration of an agent or of dev: they take what those take.
func settledForBoth(cmd *cobra.Command, path string, flags agentSettings) (agentSettings, error) {
	s, err := settled(cmd, path, eitherSettings{Agent: flags}, eitherSettings{Agent: defaultAgent()},
		func(s *eitherSettings, f *pflag.FlagSet) { s.Agent.bind(f) })
	return s.Agent, err
}

func defaultAgent() agentSettings {
	return agentSettings{Data: "phonebooth-agent", Host: defaultHost(), Logs: defaultLogs()}
}

func defaultHost() hostSettings { return hostSettings{ADB: adbAuto} }

func (s *agentSettings) bind(f *pflag.FlagSet) {
	f.StringVar(&s.Server, "server", s.Server, "the server's URL (default: "+envServer+")")
	f.StringVar(&s.EnrollFile, "enroll-file", s.EnrollFile, "file that holds an enrollment token, for the first start")
	f.StringVar(&s.Name, "name", s.Name, "name of the host, for the first start (default: the machine's)")
	f.StringVar(&s.Data, "data", s.Data, "directory for the host's identity, journal and spool; one process at a time")
	s.Host.bind(f)
	s.Logs.bind(f)
}

func (s *hostSettings) bind(f *pflag.FlagSet) {
	f.StringVar(&s.ADB, "adb", s.ADB, "auto: every phone that adb sees; off: none; or HOST:PORT of an adb server")
	f.IntVar(&s.Sim, "sim", s.Sim, "simulated devices to add")
	f.StringArrayVar(&s.Tags, "tag", s.Tags, "tag for each device of this host; may be repeated")
}

// bridges opens what the settings ask for, by name.
func (s hostSettings) bridges(known *bridge.Registry) (map[string]bridge.Bridge, error) {
	if err := phonebooth.ValidTags("tag", s.Tags); err != nil {
		return nil, err
	}
	if err := s.Devices.check(); err != nil {
		return nil, err
	}
	asked, err := s.asked(known)
	if err != nil {
		return nil, err
	}
	open := map[string]bridge.Bridge{}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		b, err := known.New(name, asked[name])
		if _, said := errors.AsType[*phonebooth.Error](err); err != nil && !said { // it looked at nothing but its settings
			return nil, phonebooth.Errorf(phonebooth.Invalid, "invalid", "%v", err)
		}
		if err != nil {
			return nil, err
		}
		open[name] = s.Devices.around(name, tagging{b, s.Tags})
	}
	if len(open) == 0 {
		return nil, phonebooth.Errorf(phonebooth.Invalid, "invalid", "this host would have no devices: --adb is off, and --sim is 0")
	}
	return open, nil
}

// asked are the settings of each bridge that is asked for. A bridge that the configuration names stays as it stands there: a
// flag that says something else of it is refused.
func (s hostSettings) asked(known *bridge.Registry) (map[string]bridge.Settings, error) {
	asked := maps.Clone(s.Bridges)
	if asked == nil {
		asked = map[string]bridge.Settings{}
	}
	named := func(name string) bool { _, ok := asked[name]; return ok }
	switch {
	case s.Sim < 0 || s.Sim > phonebooth.MaxDevicesPerHost:
		return nil, phonebooth.Errorf(phonebooth.Invalid, "invalid", "--sim must be between 0 and %d", phonebooth.MaxDevicesPerHost)
	case s.Sim > 0 && named(bridgeSim):
		return nil, phonebooth.Errorf(phonebooth.Invalid, "invalid",
			"simulated devices are asked for twice: bridges.sim in the configuration, and sim: %d; leave one of them away", s.Sim)
	case s.Sim > 0:
		asked[bridgeSim] = bridge.Settings{"devices": strconv.Itoa(s.Sim)}
	}
	switch s.ADB {
	case adbOff:
	case adbAuto:
		if slices.Contains(known.Names(), bridgeADB) && !named(bridgeADB) { // a custom build may leave it out
			asked[bridgeADB] = bridge.Settings{}
		}
	default:
		if named(bridgeADB) {
			return nil, phonebooth.Errorf(phonebooth.Invalid, "invalid",
				"adb is spoken of twice: bridges.adb in the configuration, and adb: %s; name the server as server: under bridges.adb, or leave bridges.adb away", s.ADB)
		}
		asked[bridgeADB] = bridge.Settings{"server": s.ADB}
	}
	return asked, nil
}

// tagging is a bridge whose devices all have some more tags.
type tagging struct {
	bridge.Bridge
	tags []string
}

// Unwrap is the bridge itself.
func (t tagging) Unwrap() bridge.Bridge { return t.Bridge }

// Watch passes on each list with the tags.
func (t tagging) Watch(ctx context.Context, changed func([]bridge.Device)) error {
	return t.Bridge.Watch(ctx, func(devices []bridge.Device) {
		devices = slices.Clone(devices)
		for i := range devices {
			devices[i].Tags = slices.Concat(devices[i].Tags, t.tags)
		}
		changed(devices)
	})
}
