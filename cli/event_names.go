package cli

import (
	"context"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
)

// eventNames are the names of the devices and hosts that events tell of. They are read when an id comes up that has none yet;
// one that the server does not know either is asked for once.
type eventNames struct {
	client *client.Client
	known  map[string]string
}

// learn reads names if e tells of somebody new. Without an answer ids stand for themselves.
func (n *eventNames) learn(ctx context.Context, e v1.Event) {
	if n.has(e.DeviceID) && n.has(e.HostID) {
		return
	}
	if n.known == nil {
		n.known = map[string]string{}
	}
	n.known[e.DeviceID], n.known[e.HostID] = "", ""
	if devices, err := n.client.Devices(ctx); err == nil {
		for _, d := range devices {
			n.known[d.ID] = d.Name
		}
	}
	if hosts, err := n.client.Hosts(ctx); err == nil {
		for _, h := range hosts {
			n.known[h.ID] = h.Name
		}
	}
}

func (n *eventNames) has(id string) bool {
	_, known := n.known[id]
	return id == "" || known
}

// name is what an id is called, the id itself if it has no name.
func (n *eventNames) name(id string) string { return named(n.known)(id) }
