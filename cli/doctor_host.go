package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/client"
	"github.com/phonebooth-dev/phonebooth/internal/agent"
	"github.com/phonebooth-dev/phonebooth/internal/boottime"
	"github.com/phonebooth-dev/phonebooth/internal/config"
)

// examineData looks at the agent's data directory: who has it, which host it is, and whether there is room.
func examineData(r *findings, dir string) agent.Peeked {
	peeked, err := agent.Peek(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.ill("data directory", dir+" does not exist: this machine is no host yet", "start the agent once with a token of phonebooth host enroll, or name its directory with --data")
		return peeked
	case err != nil:
		r.error("data directory", err)
		return peeked
	}
	switch {
	case peeked.Identity.HostID == "":
		r.ill("identity", dir+" is no host's", "start the agent once with a token of phonebooth host enroll")
	case peeked.Holder != 0:
		r.well("agent", "runs as process %d, as host %s", peeked.Holder, peeked.Identity.HostID)
	default:
		r.add(bridge.Finding{
			Subject: "agent", Verdict: bridge.Odd, Message: fmt.Sprintf("does not run now; it is host %s", peeked.Identity.HostID),
			Advice: "start it: phonebooth agent, with the same flags",
		})
	}
	if err := agent.Room(dir); err != nil {
		r.ill("disk", fmt.Sprintf("no room in %s: %v; the agent asks for no work", dir, err), "make room: reports and logs of what runs must fit")
		return peeked
	}
	free, err := config.FreeSpace(dir)
	if err != nil {
		r.error("disk", err)
		return peeked
	}
	r.well("disk", "%.1f GB free in %s", float64(free)/1e9, dir)
	return peeked
}

// examineClock looks whether the clock that leases are counted by runs.
func examineClock(ctx context.Context, r *findings) {
	wall, steady := time.Now(), boottime.Now()
	select {
	case <-time.After(20 * time.Millisecond):
	case <-ctx.Done():
		return
	}
	passed, counted := time.Since(wall), boottime.Now()-steady
	if counted < passed/2 || counted > 2*passed {
		r.ill("steady clock", fmt.Sprintf("it counted %v in %v", counted, passed), "leases cannot be kept on a machine whose clock does not run evenly")
		return
	}
	r.well("steady clock", "runs")
}

// slowCall bounds each question to the control plane.
const slowCall = 5 * time.Second

// maxSkew is how far the wall clock may be from the control plane's before times in logs and pages confuse people.
const maxSkew = 30 * time.Second

// examineServer looks at the control plane, and whether it takes this host's token. It returns what the control plane says of
// this host's devices; nil when nobody may ask.
func (p *program) examineServer(ctx context.Context, r *findings, s agentSettings, id agent.Peeked) map[phonebooth.DeviceID]v1.Device {
	given := cmp.Or(s.Server, os.Getenv(envServer))
	if given == "" {
		r.ill("control plane", "no server is named", "name it with --server, "+envServer+" or in the configuration")
		return nil
	}
	address, err := serverURL(given)
	if err != nil {
		r.error("control plane", err)
		return nil
	}
	c, err := client.New(address, id.Identity.Secret.Reveal(), client.Options{UserAgent: "phonebooth-doctor/" + p.opts.Version, Patience: time.Second})
	if err != nil {
		r.error("control plane", err)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, slowCall)
	defer cancel()
	asked := time.Now()
	version, err := c.Version(ctx)
	if err != nil {
		r.error("control plane", err)
		return nil
	}
	answered := time.Now()
	if err := c.Ready(ctx); err != nil {
		r.error("control plane", err)
		return nil
	}
	r.well("control plane", "%s runs %s and is ready, answered in %s", address, version.Version, answered.Sub(asked).Round(time.Millisecond))
	skew := version.Now.Sub(asked.Add(answered.Sub(asked) / 2)).Round(100 * time.Millisecond)
	if skew.Abs() > maxSkew {
		r.add(bridge.Finding{
			Subject: "wall clock", Verdict: bridge.Odd, Message: fmt.Sprintf("the control plane's is %v ahead of this machine's", skew),
			Advice: "no lease depends on it, but times in logs will not agree: let both machines set their clocks by NTP",
		})
	} else {
		r.well("wall clock", "within %v of the control plane's", max(skew.Abs(), 100*time.Millisecond))
	}
	if id.Identity.HostID != "" {
		examineToken(ctx, r, c, id)
	}
	return p.heldBy(ctx, r, address, id.Identity.HostID)
}

// examineToken asks for the renewal of no lease at all: that needs this host's token, and changes nothing.
func examineToken(ctx context.Context, r *findings, c *client.Client, id agent.Peeked) {
	_, err := c.Agent(string(id.Identity.HostID)).Renew(ctx, v1.RenewalRequest{Incarnation: id.Incarnation, LeaseIDs: []string{}})
	switch phonebooth.CodeOf(err) {
	case "":
		r.well("token", "the control plane knows this host")
	case "unauthenticated":
		r.ill("token", "the control plane does not know this host's token: the host was removed, or this is another control plane",
			"to become a new host: remove the data directory and enroll again")
	case "host_superseded", "host_identity_conflict":
		r.ill("token", "another agent has taken over this host", "if this machine shall be it: start its agent once with --take-over")
	default:
		r.error("token", err)
	}
}

// heldBy asks what the control plane says of a host's devices, if a token for that is kept on this machine.
func (p *program) heldBy(ctx context.Context, r *findings, address string, host phonebooth.HostID) map[phonebooth.DeviceID]v1.Device {
	kept, err := keptAccounts()
	token := cmp.Or(os.Getenv(envToken), kept.Servers[address].Token)
	if host == "" {
		return nil
	}
	if err != nil || token == "" {
		r.add(bridge.Finding{
			Subject: "holds", Verdict: bridge.Odd, Message: "not known: no token on this machine may ask what the control plane holds against its devices",
			Advice: "phonebooth login " + address + ", or " + envToken,
		})
		return nil
	}
	c, err := client.New(address, token, client.Options{UserAgent: "phonebooth-doctor/" + p.opts.Version, Patience: time.Second})
	if err != nil {
		return nil
	}
	devices, err := c.Devices(ctx)
	if err != nil {
		r.error("holds", err)
		return nil
	}
	held := map[phonebooth.DeviceID]v1.Device{}
	for _, d := range devices {
		held[phonebooth.DeviceID(d.ID)] = d
	}
	return held
}
