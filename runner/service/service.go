// Package service runs a program with another one beside it: the service is started first, the program when the service is ready, and
// when the program has ended the service is ended too. That is how a preset gives each task an Appium server of its own.
//
// It is the other half of [runner.Service]: [runner.Program] puts [Verb] and the service before the program's arguments, and a
// binary that offers such programs calls [Main] when its first argument is Verb, before anything else. It knows nothing of tasks
// and devices.
//
// What the service writes goes to standard error, each line behind its name. The exit code is the program's; 78 means that the
// service did not get ready. Signals are passed on to the program, which has a process group of its own. Whoever runs all this must
// still look for what is left when it is killed itself.
package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/phonebooth-dev/phonebooth/runner"
)

// Verb is the hidden first argument.
const Verb = runner.AttendVerb

// The exit codes that are not the program's.
const (
	codeUsage     = 2
	codeNotReady  = 78
	codeNotFound  = 127
	codeSignalled = 128 // and the signal
)

const (
	look     = 100 * time.Millisecond // between two questions whether the service is ready
	question = time.Second            // for one of them: a service may take a connection and say nothing
	patience = 5 * time.Second        // for a service that was asked to end
)

// Main is the process's whole life. It returns the status to exit with.
func Main() int {
	s, argv, err := read(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "phonebooth: this verb is for the agent's own use:", err)
		return codeUsage
	}
	told := make(chan os.Signal, 8)
	signal.Notify(told, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	code, by := attend(s, argv, told, os.Stdout, os.Stderr)
	if by != 0 { // whoever waits for this process shall see how the program ended
		signal.Reset(by)
		_ = syscall.Kill(os.Getpid(), by)
		time.Sleep(patience) // the signal ends it; one that does not leaves the code
	}
	return code
}

// read takes Verb, the service as JSON, "--" and the program.
func read(args []string) (s runner.Service, argv []string, err error) {
	if len(args) < 4 || args[0] != Verb || args[2] != "--" {
		return s, nil, errors.New("it takes a service as JSON, -- and a program")
	}
	if err := json.Unmarshal([]byte(args[1]), &s); err != nil {
		return s, nil, fmt.Errorf("read the service: %w", err)
	}
	if len(s.Argv) == 0 {
		return s, nil, errors.New("the service has no program")
	}
	return s, args[3:], nil
}

// attend is Main with what belongs to the process made explicit. by is the signal that killed the program, 0 when none did.
func attend(s runner.Service, argv []string, told <-chan os.Signal, stdout, stderr io.Writer) (code int, by syscall.Signal) {
	name := filepath.Base(s.Argv[0])
	runtime.LockOSThread() // what it starts dies with this thread, where the system can do that
	beside, err := start(s, prefixed(stderr, "["+name+"] "))
	if err != nil {
		fmt.Fprintf(stderr, "phonebooth: %s cannot be started: %v\n", name, err)
		return codeNotReady, 0
	}
	defer beside.stop()
	if code, err := awaitReady(s, beside, told); err != nil {
		fmt.Fprintf(stderr, "phonebooth: %s %v\n", name, err)
		return code, 0
	}
	program := exec.Command(argv[0], argv[1:]...)
	program.Stdout, program.Stderr = stdout, stderr
	program.SysProcAttr = attributes()
	if err := program.Start(); err != nil {
		fmt.Fprintln(stderr, "phonebooth:", err)
		return codeNotFound, 0
	}
	over := make(chan error, 1)
	go func() { over <- program.Wait() }()
	gone := beside.over
	for {
		select {
		case <-over:
			return codeOf(program.ProcessState), killedBy(program.ProcessState)
		case sig := <-told:
			forward(program.Process.Pid, sig)
		case <-gone:
			fmt.Fprintf(stderr, "phonebooth: %s %v while it was needed\n", name, beside.ended())
			gone = nil
		}
	}
}

// forward passes a signal on to the program and what it started.
func forward(pid int, sig os.Signal) {
	if s, ok := sig.(syscall.Signal); ok {
		_ = syscall.Kill(-pid, s) // it may just have ended
	}
}

// awaitReady asks until the service answers. The error says why there is no use in waiting.
func awaitReady(s runner.Service, beside *side, told <-chan os.Signal) (code int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.Within)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		answer := ask(ctx, client, s.Ready)
		if answer == nil {
			return 0, nil
		}
		select {
		case <-beside.over:
			return codeNotReady, fmt.Errorf("%v before it was ready at %s", beside.ended(), s.Ready)
		case <-ctx.Done():
			return codeNotReady, fmt.Errorf("was not ready within %v: %w", s.Within, answer)
		case sig := <-told:
			n, _ := sig.(syscall.Signal)
			return codeSignalled + int(n), fmt.Errorf("was not needed any more: %v", sig)
		case <-tick.C:
		}
	}
}

// ask is nil when url answers that all is well.
func ask(ctx context.Context, client *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(ctx, question)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}

// killedBy is the signal that ended a program, or 0.
func killedBy(state *os.ProcessState) syscall.Signal {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal()
	}
	return 0
}

// codeOf is how a shell tells the end of a program.
func codeOf(state *os.ProcessState) int {
	if by := killedBy(state); by != 0 {
		return codeSignalled + int(by)
	}
	return state.ExitCode()
}
