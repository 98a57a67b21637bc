package adb

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/phonebooth-dev/phonebooth/bridge"
	wire "github.com/phonebooth-dev/phonebooth/internal/adb"
)

// baseline is how a device was before a lease. It lies on the device itself until the device is clean again: so what a lease
// left is found also by an agent that has not seen it begin, on whichever host.
type baseline struct {
	Boot      string   `json:"boot"` // tells one start of the device's system from another
	Processes []string `json:"processes"`
	Keyboard  string   `json:"keyboard"`
}

// baselinePath is where it lies.
const baselinePath = "/data/local/tmp/phonebooth-lease"

// askTime bounds each command that a device is asked between leases.
const askTime = 5 * time.Second

// bedside is a device that is being put in order.
type bedside struct {
	server *wire.Client
	device wire.Device
}

// there reports whether the server still lists the device as one that takes commands. One that could not be asked for, because
// the time was up, is taken to be.
func (b bedside) there(ctx context.Context) bool {
	listed, err := b.server.Devices(ctx)
	return ctx.Err() != nil || !errors.Is(err, wire.ErrUnreachable) && (err != nil || isIn(b.device, listed))
}

// ask runs a command. A device that does not answer in time is unfit.
func (b bedside) ask(ctx context.Context, command string) (wire.Output, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	out, err := b.server.Shell(ctx, b.device, command)
	if err != nil {
		return out, fmt.Errorf("%w: %w", bridge.Unfit("its shell does not answer"), err)
	}
	out.Stdout = strings.ReplaceAll(out.Stdout, "\r\n", "\n")
	return out, nil
}

// processes is the process table and the asking shell.
func (b bedside) processes(ctx context.Context) (shell int, all []process, err error) {
	for _, command := range listProcesses {
		out, err := b.ask(ctx, command)
		if err != nil {
			return 0, nil, err
		}
		if shell, all = parseProcesses(out.Stdout); len(all) > 1 {
			return shell, all, nil
		}
	}
	return 0, nil, bridge.Unfit("it does not show its processes")
}

// begin takes the baseline of a lease and leaves it on the device. If one is there, a lease was not cleaned up after: then
// that is done first. A device that cannot keep it is cleaned all the same, as long as this process lives.
func (b bedside) begin(ctx context.Context) (baseline, error) {
	now, old, err := b.look(ctx)
	if err != nil {
		return baseline{}, err
	}
	if old != nil && old.Boot == now.Boot {
		if err = b.stopEveryInstrumentation(ctx); err == nil {
			err = b.restore(ctx, *old, nil)
		}
		if err != nil {
			return baseline{}, fmt.Errorf("cleaning up after an earlier attempt: %w", err)
		}
		if now, _, err = b.look(ctx); err != nil {
			return baseline{}, err
		}
	}
	text, err := json.Marshal(now)
	if err != nil {
		return baseline{}, fmt.Errorf("writing down how the device is: %w", err)
	}
	_, err = b.ask(ctx, "echo "+base64.StdEncoding.EncodeToString(text)+" > "+baselinePath)
	return now, err
}

// askBaseline asks for what a baseline is made of, and for the one that lies on the device.
const askBaseline = "echo [boot]; cat /proc/sys/kernel/random/boot_id 2>/dev/null; getprop ro.boottime.init; " +
	"echo [keyboard]; settings get secure default_input_method; echo [left]; cat " + baselinePath + " 2>/dev/null"

// look is how the device is now, and the baseline that lies on it, or nil.
func (b bedside) look(ctx context.Context) (now baseline, left *baseline, err error) {
	shell, all, err := b.processes(ctx)
	if err != nil {
		return now, nil, err
	}
	for _, p := range strays(shell, all, nil) {
		now.Processes = append(now.Processes, p.mark())
	}
	out, err := b.ask(ctx, askBaseline)
	if err != nil {
		return now, nil, err
	}
	said := parseSections(out.Stdout)
	now.Boot = said["boot"]
	if now.Keyboard = said["keyboard"]; now.Keyboard == "null" {
		now.Keyboard = ""
	}
	var old baseline
	plain, err := base64.StdEncoding.DecodeString(said["left"])
	if err == nil && json.Unmarshal(plain, &old) == nil {
		left = &old
	}
	return now, left, nil
}

// sections are parts of an output by name.
type sections map[string]string

// parseSections reads what follows lines of "[NAME]", each without blanks around it.
func parseSections(text string) sections {
	said := sections{}
	name := ""
	for line := range strings.Lines(text) {
		if word, ok := strings.CutPrefix(strings.TrimSpace(line), "["); ok && strings.HasSuffix(word, "]") && !strings.ContainsAny(word, " :") {
			name = strings.TrimSuffix(word, "]")
			continue
		}
		said[name] += line
	}
	for name := range said {
		said[name] = strings.TrimSpace(said[name])
	}
	return said
}
