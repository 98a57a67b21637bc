package adb

import (
	"maps"
	"strings"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/bridge"
	wire "github.com/phonebooth-dev/phonebooth/internal/adb"
)

// phone is one device of the server and what it said of itself.
type phone struct {
	wire.Identity
	properties map[string]string
	health     health
}

// Conditions beside those that the server says.
const (
	connecting phonebooth.Condition = "connecting" // it was not asked yet what it is
	booting    phonebooth.Condition = "booting"
)

func (p phone) ready() bool {
	condition, _ := p.condition()
	return condition == phonebooth.Ready
}

// condition is the server's state of a device that does not take commands, word for word, and otherwise what keeps it
// from taking a task.
func (p phone) condition() (phonebooth.Condition, string) {
	state := p.Transports[0].State
	switch {
	case state.NoPermissions():
		return phonebooth.Condition(wire.StateNoPermissions), string(state) // the state itself is a long advice
	case !state.Ready():
		return phonebooth.Condition(state), ""
	case p.properties == nil:
		return connecting, "it has not said yet what it is"
	case p.Ambiguous:
		return phonebooth.Ambiguous, p.Why
	case !booted(p.properties):
		return booting, "it has not finished booting"
	case p.health.misses >= tooManyMisses:
		return phonebooth.Unhealthy, "its shell does not answer"
	}
	return phonebooth.Ready, ""
}

// booted reports whether a device that says this of itself has booted.
func booted(properties map[string]string) bool {
	return properties["sys.boot_completed"] == "1" || properties["dev.bootcomplete"] == "1"
}

// device is p for the host. listed are all transports of its server.
func (p phone) device(listed []wire.Device) bridge.Device {
	first := p.Transports[0]
	d := bridge.Device{
		Key: p.Key, Name: target(first, listed), DriverType: DriverType, Tags: []string{DriverType},
		Attributes: map[string]string{"serial": first.Serial},
	}
	d.Condition, d.Reason = p.condition()
	if first.USBPath != "" {
		d.Attributes["usb"] = first.USBPath
	}
	for name, property := range map[string]string{
		"model": "ro.product.model", "manufacturer": "ro.product.manufacturer", "android": "ro.build.version.release",
	} {
		if value := p.properties[property]; value != "" {
			d.Attributes[name] = value
		}
	}
	maps.Copy(d.Attributes, p.health.vitals)
	for tag, property := range map[string]string{"api": "ro.build.version.sdk", "abi": "ro.product.cpu.abi", "model": "ro.product.model"} {
		if value := p.properties[property]; value != "" {
			d.Tags = append(d.Tags, clean(tag+":"+strings.ReplaceAll(value, " ", "_")))
		}
	}
	if first.Emulator() || p.properties["ro.kernel.qemu"] == "1" || p.properties["ro.boot.qemu"] == "1" {
		d.Tags = append(d.Tags, "emulator")
	}
	d.Tags = phonebooth.Constraints{Tags: d.Tags}.Normalized().Tags
	return d
}

// clean is a tag as it may be on the wire.
func clean(tag string) string {
	tag = strings.ReplaceAll(strings.ToValidUTF8(tag, "_"), "\x00", "_")
	return strings.ToValidUTF8(tag[:min(len(tag), phonebooth.MaxTagBytes)], "")
}
