package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/internal/agent/minder"
	"github.com/phonebooth-dev/phonebooth/runner"
)

// Hook is a program of a host's own that puts a device in order after each attempt, once its bridge has done so. It finds the
// device as a runner does, by the bridge's variables and PHONEBOOTH_SERIAL; {serial} in its arguments stands for it as well. As
// long as it does not end with exit code 0, the device is unhealthy and everything is tried again.
type Hook struct {
	Name    string
	Argv    []string
	Drivers []string      // driver types whose devices it is for; none: all
	Timeout time.Duration // 0: DefaultHookTimeout
}

// DefaultHookTimeout bounds a hook that says nothing of its time.
const DefaultHookTimeout = time.Minute

// hooksFor are the hooks that are run on devices of a driver type.
func (a *Agent) hooksFor(driver string) []Hook {
	return slices.DeleteFunc(slices.Clone(a.options.Cleanup), func(h Hook) bool {
		return len(h.Drivers) > 0 && !slices.Contains(h.Drivers, driver)
	})
}

var errStopping = errors.New("the agent stops; its next life goes on")

// runHooks runs the host's hooks on a lease's device, through an access of their own.
func (a *Agent) runHooks(life context.Context, l *lease) error {
	if len(a.options.Cleanup) == 0 {
		return nil
	}
	d := a.pool.look(l.key())
	hooks := a.hooksFor(d.seen.DriverType)
	switch {
	case d.present && len(hooks) == 0:
		return nil
	case a.stopping():
		return errStopping
	case !d.present:
		return bridge.Unfit("the host's cleanup has to wait until it is back")
	}
	lock, err := a.lockAgain(l, d)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(life), openLimit)
	defer cancel()
	access, err := a.bridges[d.bridge].Open(ctx, d.seen.Key, bridge.Lease{Log: io.Discard, Env: []string{minder.CookieVar + "=" + l.cookie}})
	if err != nil {
		return fmt.Errorf("%w: open the device: %w", bridge.Unfit("it could not be opened for the host's cleanup"), err)
	}
	l.reopened(access)
	for _, h := range hooks {
		if err = a.runHook(life, l, h, d, access, lock); err != nil {
			break
		}
	}
	access.Cut()
	closing, cancel := context.WithTimeout(context.WithoutCancel(life), closeLimit)
	defer cancel()
	if unclosed := access.Close(closing); unclosed != nil {
		err = errors.Join(err, fmt.Errorf("close the access of the host's cleanup: %w", unclosed))
	}
	return err
}

// reopened takes the place of an access that was closed. It is the host's own, and not the lease's: a fence that has fallen is no
// reason to leave the device as it is.
func (l *lease) reopened(access bridge.Access) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.access = access
}

// lockAgain is the lock of a lease's device. A lease of a former life has none yet.
func (a *Agent) lockAgain(l *lease, d device) (*os.File, error) {
	if l.lock == nil {
		dir, name := a.lockOf(d)
		lock, err := lockDevice(dir, name)
		if err != nil {
			return nil, err
		}
		l.lock, l.barred = lock, nil
	}
	return l.lock.file, nil
}

// runHook runs one hook under a minder.
func (a *Agent) runHook(life context.Context, l *lease, h Hook, d device, access bridge.Access, lock *os.File) error {
	dir := filepath.Join(a.home.placeDir(), "cleanup."+rand.Text())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		a.noRoom("working directory", err)
		return fmt.Errorf("make a working directory: %w", err)
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			a.log.Error("cannot remove a working directory", "err", err)
		}
	}()
	limit := cmp.Or(h.Timeout, DefaultHookTimeout)
	work := runner.Work{TaskID: phonebooth.TaskID(l.Task.ID), Attempt: l.Attempt, DeviceID: phonebooth.DeviceID(l.DeviceID), Serial: d.seen.Name}
	argv := slices.Clone(h.Argv)
	for i := range argv {
		argv[i] = strings.ReplaceAll(argv[i], "{serial}", d.seen.Name)
	}
	m, err := minder.Start(context.WithoutCancel(life), minder.Spec{
		Argv: argv, Dir: dir, Env: runner.Environ(a.options.Environ, work, runner.Place{Dir: dir}, access.Env()),
		LogPath: filepath.Join(dir, "log"), ExitPath: filepath.Join(dir, "exit.json"), Cookie: l.cookie, Lock: lock,
		Deadline: a.now() + limit, Ladder: minder.Ladder{Grace: time.Second, TermGrace: time.Second}, Command: a.options.Minder, Now: a.now,
	})
	if err != nil {
		return fmt.Errorf("%w: %w", bridge.Unfit("cleanup hook "+h.Name+" could not be started"), err)
	}
	log := &logFile{path: filepath.Join(dir, "log"), limit: maxHookLog}
	ended := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		tick := time.NewTicker(limitLook)
		defer tick.Stop()
		for {
			select {
			case <-a.stopped:
				m.Stop()
				access.Cut()
				return
			case <-ended:
				return
			case <-tick.C:
				log.cut()
			}
		}
	}()
	exit, _ := m.Wait(context.WithoutCancel(life)) // which cannot end, so there is no error
	close(ended)
	<-watched
	l.strays = append(l.strays, exit.Strays...)
	a.log.Info("cleanup hook ended", append(l.task(), "hook", h.Name, "cause", exit.Cause, "exit_code", exit.ExitCode, "output", lastWords(filepath.Join(dir, "log")))...)
	return verdict(h, exit, limit)
}

// verdict is what the end of a hook says of its device.
func verdict(h Hook, exit minder.Exit, limit time.Duration) error {
	switch {
	case exit.Cause == minder.Exited && exit.ExitCode == 0:
		return nil
	case exit.Cause == minder.Exited:
		return bridge.Unfit(fmt.Sprintf("cleanup hook %s ended with exit code %d", h.Name, exit.ExitCode))
	case exit.Cause == minder.Deadline:
		return bridge.Unfit(fmt.Sprintf("cleanup hook %s did not end within %v", h.Name, limit))
	case exit.Cause == minder.StartFailed:
		return bridge.Unfit(fmt.Sprintf("cleanup hook %s could not be started: %s", h.Name, exit.Detail))
	case exit.Cause == minder.Stopped:
		return errStopping
	}
	return bridge.Unfit(fmt.Sprintf("cleanup hook %s was killed (%s)", h.Name, exit.Cause))
}

// maxHookLog is how large the file of a hook's output may grow.
const maxHookLog = 8 << 20

// maxLastWords is how much of a hook's output is logged.
const maxLastWords = 1 << 10

// lastWords is the end of what a hook has said.
func lastWords(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	size, err := f.Seek(0, 2)
	if err != nil {
		return ""
	}
	text := make([]byte, min(size, maxLastWords))
	if _, err := f.ReadAt(text, size-int64(len(text))); err != nil {
		return ""
	}
	return runner.Clean(string(text), maxLastWords)
}

// lockOf is where the lock of a device is, and its name.
func (a *Agent) lockOf(d device) (dir, name string) {
	if d.seen.Lock != "" {
		return a.options.LockDir, d.bridge + ":" + d.seen.Lock
	}
	return a.home.lockDir(), d.key
}

// look is the device with this key as it is known now.
func (p *pool) look(key string) device {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d, ok := p.devices[key]; ok {
		return *d
	}
	return device{key: key}
}
