package minder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/boottime"
)

// Options tune a minder. The zero value is production.
type Options struct {
	Now func() time.Duration // lease time; nil is boottime.Now
}

// Main is a minder's whole life: it takes an order from stdin, runs it, and returns the
// status to exit with. It is called by the binary's main goroutine, which does nothing
// before and nothing after. The status tells about the minder, not about the runner:
// 0 when the end was told or written, 1 when it could be neither, 2 when nobody gave a
// valid order.
func Main(opt Options) int {
	// The runner is killed when the thread that started it ends, so this one stays.
	runtime.LockOSThread()
	if opt.Now == nil {
		opt.Now = boottime.Now
	}
	showName()
	keepFiles()
	events := json.NewEncoder(os.NewFile(eventFD, "events"))

	// From here on a signal ends the runner first.
	asked := make(chan os.Signal, 4)
	signal.Notify(asked, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)

	control := json.NewDecoder(os.Stdin)
	var first command
	if err := control.Decode(&first); err != nil || first.Do != doRun || first.Order == nil {
		if err != io.EOF { // which is an agent that died or changed its mind
			fmt.Fprintln(os.Stderr, "phonebooth: this verb is for the agent's own use and got no order")
		}
		return 2
	}

	w := &watch{spec: first.Order.spec(), now: opt.Now, asked: asked, children: children}
	w.hunt = newHunt(w.quarry)
	exit := w.launch()
	if exit == nil {
		_ = events.Encode(event{Runner: w.runner}) // an agent that is gone shows on the control pipe
		w.commands = read(control)
		exit = w.attend()
	}
	writeErr := writeExit(w.spec.ExitPath, *exit)
	tellErr := events.Encode(event{Exit: exit})
	if writeErr != nil && tellErr != nil {
		fmt.Fprintln(os.Stderr, "phonebooth: the end of a runner is lost:", writeErr)
		return 1
	}
	return 0
}

// keepFiles keeps every file but the standard ones from the runner: the event pipe, and
// whatever the agent was started with.
func keepFiles() {
	syscall.CloseOnExec(eventFD)
	names, _ := os.ReadDir("/dev/fd") // without it the event pipe is what matters
	for _, name := range names {
		if fd, err := strconv.Atoi(name.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

// read passes on commands until the pipe ends, and then closes the channel. Something
// that is no command ends the pipe as well: an agent that cannot be understood is gone.
func read(control *json.Decoder) <-chan command {
	commands := make(chan command)
	go func() { // ends with the process
		defer close(commands)
		for {
			var c command
			if control.Decode(&c) != nil {
				return
			}
			commands <- c
		}
	}()
	return commands
}

// launch starts the runner. It returns the exit of one that could not start.
func (w *watch) launch() *Exit {
	w.deadline = w.spec.Deadline
	if w.now() >= w.deadline {
		return w.exit(Exit{Cause: Deadline, ExitCode: -1, Detail: "the deadline had passed before the start"})
	}
	if err := w.start(); err != nil {
		return w.exit(Exit{Cause: StartFailed, ExitCode: -1, Detail: err.Error()})
	}
	w.started = w.now()
	return nil
}

func (w *watch) start() error {
	s := w.spec
	if info, err := os.Stat(s.Dir); err != nil || !info.IsDir() {
		return errors.New("the working directory is not there")
	}
	program, err := locate(s.Argv[0], s.Dir, s.Env)
	if err != nil {
		return err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return fmt.Errorf("open the null device: %w", syscallError(err))
	}
	defer func() { _ = null.Close() }()
	log, err := os.OpenFile(s.LogPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open the log: %w", syscallError(err))
	}
	defer func() { _ = log.Close() }()
	if err := adoptOrphans(); err != nil {
		return err
	}
	putMark(s.Cookie)
	// Not os/exec: the minder waits for all its children, adopted ones too, by itself.
	w.runner, err = syscall.ForkExec(program, s.Argv, &syscall.ProcAttr{
		Dir:   s.Dir,
		Env:   marked(s.Env, s.Cookie),
		Files: []uintptr{null.Fd(), log.Fd(), log.Fd()},
		Sys:   runnerAttr(),
	})
	if err != nil {
		return startError(s.Argv[0], err)
	}
	return nil
}

// exit completes an Exit with what is the same for all.
func (w *watch) exit(e Exit) *Exit {
	e.Started, e.Ended = w.started, w.now()
	e.BootID, e.Wall = boottime.BootID(), time.Now().UTC()
	return &e
}
