package cli

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/bridge"
)

// deviceSettings are what an operator knows better of single devices of a host: by key, name or serial number.
type deviceSettings map[string]deviceSetting

// deviceSetting is about one device.
type deviceSetting struct {
	Tags        []string `yaml:"tags"`         // it has these as well
	WithoutTags []string `yaml:"without_tags"` // and not these
	Off         bool     `yaml:"off"`          // its host does not offer it
}

// off is the condition of a device that its host does not offer.
const off phonebooth.Condition = "off"

// check refuses what could not be meant.
func (s deviceSettings) check() error {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if name == "" {
			return phonebooth.Errorf(phonebooth.Invalid, "invalid", "devices: a device needs a name: its key, as phonebooth device list -o json shows it, or its serial number")
		}
		tags := map[string][]string{"tags": s[name].Tags, "without_tags": s[name].WithoutTags}
		for _, field := range slices.Sorted(maps.Keys(tags)) {
			if err := phonebooth.ValidTags(fmt.Sprintf("devices: %s: %s", name, field), tags[field]); err != nil {
				return err
			}
		}
	}
	return nil
}

// around is a bridge whose devices are as the settings have them. name is the bridge's.
func (s deviceSettings) around(name string, b bridge.Bridge) bridge.Bridge {
	if len(s) == 0 {
		return b
	}
	return &corrected{Bridge: b, name: name, settings: s, seen: map[string]bool{}}
}

// corrected is a bridge whose devices an operator has corrected.
type corrected struct {
	bridge.Bridge
	name     string
	settings deviceSettings

	mu   sync.Mutex
	seen map[string]bool // the settings that were about a device
}

// Unwrap is the bridge itself.
func (c *corrected) Unwrap() bridge.Bridge { return c.Bridge }

// Watch passes on each list, corrected.
func (c *corrected) Watch(ctx context.Context, changed func([]bridge.Device)) error {
	return c.Bridge.Watch(ctx, func(devices []bridge.Device) {
		devices = slices.Clone(devices)
		for i := range devices {
			devices[i] = c.correct(devices[i])
		}
		changed(devices)
	})
}

// correct applies every setting that is about d.
func (c *corrected) correct(d bridge.Device) bridge.Device {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := []string{c.name + ":" + d.Key, d.Key, d.Name, d.Attributes["serial"]}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		s, ok := c.settings[name]
		if !ok {
			continue
		}
		c.seen[name] = true
		d.Tags = slices.DeleteFunc(slices.Concat(d.Tags, s.Tags), func(tag string) bool { return slices.Contains(s.WithoutTags, tag) })
		if s.Off {
			d.Condition, d.Reason = off, "switched off in its host's configuration"
		}
	}
	return d
}

// unseenAfter is how long a device may take to be seen before the log says that it was not.
const unseenAfter = time.Minute

// sayUnseen has the log say once which of the settings are about no device that was seen, some time from now. stop calls it off.
func (s deviceSettings) sayUnseen(bridges map[string]bridge.Bridge, log *slog.Logger) (stop func() bool) {
	return time.AfterFunc(unseenAfter, func() {
		if names := s.unseen(bridges); len(names) > 0 {
			log.Warn("the configuration speaks of devices that were not seen", "devices", strings.Join(names, ", "))
		}
	}).Stop
}

// unseen lists the settings that have been about no device yet.
func (s deviceSettings) unseen(bridges map[string]bridge.Bridge) []string {
	left := maps.Clone(s)
	for _, b := range bridges {
		if c, ok := b.(*corrected); ok {
			c.mu.Lock()
			maps.DeleteFunc(left, func(name string, _ deviceSetting) bool { return c.seen[name] })
			c.mu.Unlock()
		}
	}
	return slices.Sorted(maps.Keys(left))
}
