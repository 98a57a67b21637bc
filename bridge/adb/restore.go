package adb

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/phonebooth-dev/phonebooth/bridge"
)

// How long processes of a device may take to end after a signal, and how often it is looked.
const (
	dyingTime = 2 * time.Second
	dyingLook = 200 * time.Millisecond
)

// restore brings the device back to what it was before a lease: what was started through adb is ended, the keyboard is the old
// one, what was instrumented is stopped, and the home screen is shown. Then it looks whether the device is well.
func (b bedside) restore(ctx context.Context, before baseline, instrumented []string) error {
	if err := b.endStrays(ctx, before.Processes); err != nil {
		return err
	}
	if err := b.stopInstrumented(ctx, instrumented); err != nil {
		return err
	}
	if err := b.resetKeyboard(ctx, before.Keyboard); err != nil {
		return err
	}
	if _, err := b.ask(ctx, "input keyevent 3"); err != nil { // home; a device without a screen refuses, and is as well
		return err
	}
	if err := b.examine(ctx); err != nil {
		return err
	}
	_, err := b.ask(ctx, "rm -f "+baselinePath)
	return err
}

// endStrays ends every process that was started through adb and is not in known: by a request first, then by force.
func (b bedside) endStrays(ctx context.Context, known []string) error {
	for _, kill := range []string{"kill ", "kill -9 "} {
		found, err := b.strays(ctx, known)
		if err != nil || len(found) == 0 {
			return err
		}
		command := kill
		for _, p := range found {
			command += " " + strconv.Itoa(p.PID)
		}
		if _, err := b.ask(ctx, command); err != nil {
			return err
		}
		for deadline := time.Now().Add(dyingTime); time.Now().Before(deadline); {
			if found, err = b.strays(ctx, known); err != nil || len(found) == 0 {
				return err
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("waiting for processes to end: %w", ctx.Err())
			case <-time.After(dyingLook):
			}
		}
	}
	found, err := b.strays(ctx, known)
	if err != nil || len(found) == 0 {
		return err
	}
	return bridge.Unfit(fmt.Sprintf("%s (process %d), which an attempt started on it, does not end", found[0].Name, found[0].PID))
}

func (b bedside) strays(ctx context.Context, known []string) ([]process, error) {
	shell, all, err := b.processes(ctx)
	return strays(shell, all, known), err
}

// resetKeyboard chooses the keyboard that was chosen before.
func (b bedside) resetKeyboard(ctx context.Context, before string) error {
	const current = "settings get secure default_input_method"
	out, err := b.ask(ctx, current)
	now := strings.TrimSpace(out.Stdout)
	if err != nil || before == "" || now == before || !component.MatchString(before) {
		return err
	}
	if _, err = b.ask(ctx, "ime enable '"+before+"'; ime set '"+before+"'"); err != nil {
		return err
	}
	if out, err = b.ask(ctx, current); err != nil {
		return err
	}
	if strings.TrimSpace(out.Stdout) != before {
		return bridge.Unfit("its keyboard cannot be set back to " + before)
	}
	return nil
}

// component is the name of a part of a package, as commands take it.
var component = regexp.MustCompile(`^[A-Za-z0-9_.]+/[A-Za-z0-9_.$]+$`)

// packageName is the name of a package.
var packageName = regexp.MustCompile(`^[A-Za-z0-9_.]+$`)

// instrumentation finds in a command what `am instrument` starts. Its process is an app's, and goes on without the command.
var instrumentation = regexp.MustCompile(`\b(?:am|activity)\s+instrument\s[^;&|\n]*?([A-Za-z0-9_.]+/[A-Za-z0-9_.$]+)`)

// instrumentedBy lists the components that a command instruments.
func instrumentedBy(command string) (found []string) {
	for _, match := range instrumentation.FindAllStringSubmatch(command, -1) {
		found = append(found, match[1])
	}
	return found
}

// stopInstrumented stops the packages of instrumentations and those that they are about.
func (b bedside) stopInstrumented(ctx context.Context, components []string) error {
	if len(components) == 0 {
		return nil
	}
	out, err := b.ask(ctx, "pm list instrumentation")
	if err != nil {
		return err
	}
	return b.forceStop(ctx, out.Stdout, components)
}

// stopEveryInstrumentation stops the packages of all instrumentations that the device has: after a lease of which nobody
// knows any more what it instrumented.
func (b bedside) stopEveryInstrumentation(ctx context.Context) error {
	out, err := b.ask(ctx, "pm list instrumentation")
	if err != nil {
		return err
	}
	var all []string
	for line := range strings.Lines(out.Stdout) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "instrumentation:")
		if name, _, _ = strings.Cut(name, " "); ok && component.MatchString(name) {
			all = append(all, name)
		}
	}
	return b.forceStop(ctx, out.Stdout, all)
}

// forceStop stops the packages of components and those that they are about, by `pm list instrumentation`.
func (b bedside) forceStop(ctx context.Context, list string, components []string) error {
	var packages []string
	for _, c := range components {
		packages = append(packages, targets(list, c)...)
	}
	slices.Sort(packages)
	for _, name := range slices.Compact(packages) {
		if _, err := b.ask(ctx, "am force-stop "+name); err != nil {
			return err
		}
	}
	return nil
}

// targets are the packages of an instrumentation by `pm list instrumentation`: its own and the one that it is about.
func targets(list, component string) []string {
	own, _, _ := strings.Cut(component, "/")
	packages := []string{own}
	for line := range strings.Lines(list) {
		name, rest, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "instrumentation:"), " ")
		target, ok := strings.CutPrefix(rest, "(target=")
		if target = strings.TrimSuffix(target, ")"); ok && name == component && packageName.MatchString(target) {
			packages = append(packages, target)
		}
	}
	return packages
}

// minFree is how much room a device must have on /data for an attempt.
const minFree = 64 << 20

// examine looks whether the device is fit for an attempt: it has booted, it can be written to, and there is room.
func (b bedside) examine(ctx context.Context) error {
	properties, err := b.server.Properties(ctx, b.device)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", bridge.Unfit("its shell does not answer"), err)
	case !booted(properties):
		return bridge.Unfit("it has not finished booting")
	}
	const path = "/data/local/tmp/phonebooth-probe"
	out, err := b.ask(ctx, "echo phonebooth > "+path+" && cat "+path+" && rm -f "+path)
	if err != nil {
		return err
	}
	if out.ExitCode != 0 || !strings.Contains(out.Stdout, "phonebooth") {
		return bridge.Unfit("nothing can be written to /data")
	}
	if out, err = b.ask(ctx, "df -k /data"); err != nil {
		return err
	}
	if free, ok := parseFree(out.Stdout); ok && free < minFree {
		return bridge.Unfit(fmt.Sprintf("/data has only %d MB of room", free>>20))
	}
	return nil
}
