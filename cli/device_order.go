package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

// byHostAndName puts devices in the order in which a person looks for one: sim-2 of a host before its sim-10.
func byHostAndName(cmd *cobra.Command, c *client.Client, devices []v1.Device) error {
	if len(devices) < 2 {
		return nil
	}
	hosts, err := c.Hosts(cmd.Context())
	if err != nil {
		return err
	}
	host := hostNames(hosts)
	slices.SortStableFunc(devices, func(a, b v1.Device) int {
		return cmp.Or(naturally(host(a.HostID), host(b.HostID)), strings.Compare(a.HostID, b.HostID), naturally(a.Name, b.Name))
	})
	return nil
}

// naturally compares text with the numbers in it as numbers.
func naturally(a, b string) int {
	for a != "" && b != "" {
		x, y := piece(a), piece(b)
		a, b = a[len(x):], b[len(y):]
		if digit(x[0]) && digit(y[0]) {
			m, n := strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
			if order := cmp.Or(cmp.Compare(len(m), len(n)), strings.Compare(m, n)); order != 0 {
				return order
			}
			continue
		}
		if order := strings.Compare(x, y); order != 0 {
			return order
		}
	}
	return cmp.Compare(len(a), len(b))
}

// piece is the digits that text begins with, or what stands before the first one.
func piece(text string) string {
	number := digit(text[0])
	for i := range len(text) {
		if digit(text[i]) != number {
			return text[:i]
		}
	}
	return text
}

func digit(b byte) bool { return b >= '0' && b <= '9' }
