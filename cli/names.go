package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

// deviceID is the id of the device that a person means by text: an id, or the name of exactly one device.
func deviceID(ctx context.Context, cmd *cobra.Command, c *client.Client, text string) (string, error) {
	if text == "" || strings.HasPrefix(text, "device_") {
		return text, nil
	}
	devices, err := c.Devices(ctx)
	if err != nil {
		return "", err
	}
	var found []string
	for _, d := range devices {
		if d.Name == text {
			found = append(found, d.ID)
		}
	}
	return theOne(cmd, "device", text, found)
}

// hostID is the id of the host that a person means by text: an id, or the name of exactly one host.
func hostID(ctx context.Context, cmd *cobra.Command, c *client.Client, text string) (string, error) {
	if text == "" || strings.HasPrefix(text, "host_") {
		return text, nil
	}
	hosts, err := c.Hosts(ctx)
	if err != nil {
		return "", err
	}
	var found []string
	for _, h := range hosts {
		if h.Name == text {
			found = append(found, h.ID)
		}
	}
	return theOne(cmd, "host", text, found)
}

func theOne(cmd *cobra.Command, what, text string, found []string) (string, error) {
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", &failure{
			status: exitUsage, err: fmt.Errorf("no %s has the name or id %q", what, clean(text)),
			next: []string{fmt.Sprintf("see which %ss there are: phonebooth %s list", what, what)},
		}
	}
	return "", usage(cmd, "%d %ss are named %q; give the id of one: %s", len(found), what, clean(text), strings.Join(found, ", "))
}

// hostNames are the names of hosts by id; an id without one is its own.
func hostNames(hosts []v1.Host) func(id string) string {
	names := map[string]string{}
	for _, h := range hosts {
		names[h.ID] = h.Name
	}
	return named(names)
}

// deviceNames are the names of devices by id; an id without one is its own.
func deviceNames(devices []v1.Device) func(id string) string {
	names := map[string]string{}
	for _, d := range devices {
		names[d.ID] = d.Name
	}
	return named(names)
}

func named(names map[string]string) func(id string) string {
	return func(id string) string {
		if name := names[id]; name != "" {
			return name
		}
		return id
	}
}
