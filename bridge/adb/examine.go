package adb

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"github.com/phonebooth-dev/phonebooth/bridge"
	wire "github.com/phonebooth-dev/phonebooth/internal/adb"
)

// Examine looks at the adb program and at the server, which it starts if the bridge would.
func (b *Bridge) Examine(ctx context.Context) []bridge.Finding {
	program, programErr := b.client.ProgramVersion(ctx)
	found := []bridge.Finding{examineProgram(program, programErr)}
	started := false
	if _, err := b.client.Version(ctx); b.starts && programErr == nil && errors.Is(err, wire.ErrUnreachable) {
		started = b.client.StartServer(ctx) == nil // that there is none is found below
	}
	server := bridge.Finding{Subject: "adb server", Verdict: bridge.Ill}
	version, err := b.client.Version(ctx)
	switch {
	case err == nil && started:
		server.Verdict, server.Message = bridge.Odd, fmt.Sprintf("1.0.%d at %s, where there was none: it was started just now, as the agent would", version, b.client.Address())
		server.Advice = "if the phones are at another server, name that with --adb HOST:PORT"
	case err == nil:
		server.Verdict, server.Message = bridge.Well, fmt.Sprintf("1.0.%d at %s", version, b.client.Address())
	case errors.Is(err, wire.ErrUnreachable):
		server.Message = fmt.Sprintf("nobody listens at %s", b.client.Address())
		server.Advice = "start it: adb start-server, or its systemd unit; a host without Android devices says --adb off"
	default:
		server.Message, server.Advice = err.Error(), "whatever listens there is no adb server that answers; restart it, or name another with --adb HOST:PORT"
	}
	found = append(found, server)
	if clash := (versions{server: version, program: program}).conflict(); err == nil && programErr == nil && clash != "" {
		found = append(found, bridge.Finding{
			Subject: "adb versions", Verdict: bridge.Odd, Message: clash,
			Advice: "tasks run all the same; but an adb command typed on this machine ends the server, so let both be of one version",
		})
	}
	return found
}

func examineProgram(version int, err error) bridge.Finding {
	f := bridge.Finding{Subject: "adb program", Verdict: bridge.Ill}
	switch {
	case err == nil:
		f.Verdict, f.Message = bridge.Well, fmt.Sprintf("1.0.%d", version)
	case errors.Is(err, exec.ErrNotFound):
		f.Message = "adb is not in PATH: no server can be started, and runners that call it cannot work"
		f.Advice = "install it (Debian: apt install adb); a host without Android devices says --adb off"
	default:
		f.Message, f.Advice = err.Error(), "try it: adb version"
	}
	return f
}
