package webdriver_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/bridge/bridgetest"
	"github.com/phonebooth-dev/phonebooth/bridge/webdriver"
	"github.com/phonebooth-dev/phonebooth/bridge/webdriver/webdrivertest"
	"github.com/phonebooth-dev/phonebooth/internal/agent/minder"
)

// processesOf lists what lives and has anything to do with a directory.
func processesOf(dir string) (found []int) {
	names, _ := filepath.Glob("/proc/[0-9]*")
	for _, name := range names {
		pid, err := strconv.Atoi(filepath.Base(name))
		if err != nil || pid == os.Getpid() {
			continue
		}
		args, _ := os.ReadFile(filepath.Join(name, "cmdline"))
		env, _ := os.ReadFile(filepath.Join(name, "environ"))
		if bytes.Contains(args, []byte(dir+"/")) || bytes.Contains(env, []byte("="+dir+"/")) {
			found = append(found, pid)
		}
	}
	return found
}

func kill(pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) }

const (
	helperDir    = "WEBDRIVER_TEST_DIR" // where the helper's bridge has its leases
	helperCookie = "WEBDRIVER_TEST_COOKIE"
)

// helperAgent is an agent that opens a browser and waits for its death.
func helperAgent(t *testing.T, dir string) {
	b, err := webdriver.New(webdriver.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	bridgetest.Watch(t, b).Until(t, "a ready phone", func(list []bridge.Device) bool {
		return len(list) > 0 && list[0].Condition == phonebooth.Ready
	})
	access, err := b.Open(t.Context(), "phone-1", bridge.Lease{Env: []string{minder.CookieVar + "=" + os.Getenv(helperCookie)}})
	if err != nil {
		t.Fatal(err)
	}
	p := &phone{Access: access, url: urlOf(t, access)}
	p.browse(t, nil)
	fmt.Println("browsing")
	select {}
}

func TestWhatADeadAgentLeavesIsFoundAndKilled(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(helperDir); dir != "" {
		helperAgent(t, dir)
	}
	webdrivertest.Need(t)
	for _, stopped := range []bool{false, true} {
		t.Run(fmt.Sprintf("its browser is stopped: %v", stopped), func(t *testing.T) {
			t.Parallel()
			dir, cookie := shortDir(t), fmt.Sprintf("webdriver-test-%d-%v", os.Getpid(), stopped)
			helper := startHelper(t, dir, cookie)
			if stopped { // so that it cannot end by itself
				for _, pid := range browsersOf(dir) {
					if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
						t.Fatal(err)
					}
				}
			}
			before := processesOf(dir)
			if len(before) < 4 {
				t.Fatalf("processes %v, want a whole browser", before)
			}
			_ = helper.Process.Kill()
			_ = helper.Wait() // killed
			killed, err := minder.SweepPrefix(t.Context(), cookie)
			if err != nil || stopped && killed == 0 {
				t.Errorf("the sweep killed %d, %v, want the browser", killed, err)
			}
			if !stopped {
				eventually(t, "nothing is left after the sweep", func() bool { return len(processesOf(dir)) == 0 })
			}
			next, err := webdriver.New(webdriver.Options{Dir: dir}) // the next life removes the rest
			if err != nil {
				t.Fatal(err)
			}
			bridgetest.Watch(t, next).Until(t, "a ready phone", func(list []bridge.Device) bool { return len(list) > 0 })
			if left := processesOf(dir); len(left) != 0 {
				t.Errorf("processes %v are left", left)
			}
			if places, _ := filepath.Glob(filepath.Join(dir, "*")); len(places) != 0 {
				t.Errorf("%q are left", places)
			}
		})
	}
}

func startHelper(t *testing.T, dir, cookie string) *exec.Cmd {
	t.Helper()
	helper := exec.Command(os.Args[0], "-test.run=^TestWhatADeadAgentLeavesIsFoundAndKilled$", "-test.timeout=2m")
	helper.Env = append(os.Environ(), helperDir+"="+dir, helperCookie+"="+cookie)
	helper.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := helper.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = helper.Process.Kill() })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if lines.Text() == "browsing" {
			return helper
		}
		t.Log(lines.Text())
	}
	t.Fatal("the helper ended without a browser")
	return nil
}

// browsersOf lists the main processes of browsers: their parts are told their type.
func browsersOf(dir string) (found []int) {
	for _, pid := range processesOf(dir) {
		args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if text := string(args); strings.Contains(text, "--user-data-dir=") && !strings.Contains(text, "--type=") {
			found = append(found, pid)
		}
	}
	return found
}

// marked counts what lives below dir and has an entry in its environment.
func marked(dir, entry string) (n int) {
	for _, pid := range processesOf(dir) {
		env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if bytes.Contains(env, []byte(entry)) {
			n++
		}
	}
	return n
}
