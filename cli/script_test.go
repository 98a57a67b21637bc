package cli_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/phonebooth-dev/phonebooth/cli"
	"github.com/phonebooth-dev/phonebooth/strategy/builtin"
	"github.com/phonebooth-dev/phonebooth/strategy/fifomatch"
)

// patience is how long a script waits for anything.
const patience = 60 * time.Second

// TestMain makes the test binary phonebooth, and a custom build of it, when it is called by that name.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"phonebooth": func() { os.Exit(cli.Main(cli.Options{Version: "v1.2.3"})) },
		"custombooth": func() {
			own := builtin.Registry()
			own.Register("nearest", fifomatch.New)
			os.Exit(cli.Main(cli.Options{Strategies: own}))
		},
	})
}

// TestScripts runs phonebooth as typed. Beside testscript's own commands there are
//
//	exits N PROGRAM ARGS...   run, and expect the exit code
//	serve [FLAGS...]          start $PROGRAM (phonebooth) server on $WORK/data and make it the one that is asked, at $ADDRESS, $PORT
//	host NAME [FLAGS...]      make a host and start its agent
//	attempt NAME DIR         be a host that runs one task as DIR says
//	stop server|agent         SIGTERM, and expect exit code 0
//	interrupt N PROGRAM ARGS...   run until it writes to standard error or output, send SIGINT, and expect the exit code
//	until PATTERN PROGRAM ARGS... run again and again until standard output matches
//	variable NAME FILE        set a variable to what the one line of a file says
//	examples                  run what the help texts show
//	goalis FILE               the JSON on standard output is a task whose goal is the file
func TestScripts(t *testing.T) {
	t.Parallel()
	run(t, "testdata/script")
}

func TestS2_3_AnUnknownStrategyIsRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	run(t, "testdata/rule/s2.3.txtar")
}

func TestS3_3_ACustomBuildBringsItsStrategy(t *testing.T) {
	t.Parallel()
	run(t, "testdata/rule/s3.3.txtar")
}

func TestC17_OneKeyIsOneTask(t *testing.T) {
	t.Parallel()
	run(t, "testdata/rule/c17.txtar")
}

func TestC40_GoalsAreCarriedUnharmed(t *testing.T) {
	t.Parallel()
	run(t, "testdata/rule/c40.txtar")
}

func run(t *testing.T, path string) {
	t.Helper()
	p := testscript.Params{
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(e.WorkDir, "config"))
			e.Setenv("GORACE", "atexit_sleep_ms=0") // else each of the many short processes ends with a second's sleep
			e.Values[processes] = map[string]*exec.Cmd{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "serve": serve, "host": host, "stop": stop, "interrupt": interrupt, "until": until, "goalis": goalIs,
			"attempt": attempt, "examples": examples, "variable": variable,
		},
	}
	if filepath.Ext(path) == "" {
		p.Dir = path
	} else {
		p.Files = []string{path}
	}
	testscript.Run(t, p)
}

type key int

const processes key = 0

func exits(ts *testscript.TestScript, _ bool, args []string) {
	expectCode(ts, args[0], ts.Exec(args[1], args[2:]...))
}

func expectCode(ts *testscript.TestScript, want string, err error) {
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if fmt.Sprint(got) != want {
		ts.Fatalf("exit code %d, want %s", got, want)
	}
}

// start runs phonebooth until the end of the script, and returns what the pattern finds on its standard error.
func start(ts *testscript.TestScript, name string, ready *regexp.Regexp, args ...string) string {
	cmd := exec.Command(program(ts, cmp.Or(ts.Getenv("PROGRAM"), "phonebooth")), args...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = environ(ts)
	stderr, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Value(processes).(map[string]*exec.Cmd)[name] = cmd
	ts.Defer(func() { _ = cmd.Process.Kill() })
	var said strings.Builder
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		fmt.Fprintln(&said, lines.Text())
		if m := ready.FindStringSubmatch(lines.Text()); m != nil {
			go func() { _, _ = io.Copy(io.Discard, stderr) }() // ends with the process
			return m[1]
		}
	}
	ts.Fatalf("%s did not start:\n%s", name, said.String())
	return ""
}

func program(ts *testscript.TestScript, name string) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if path := filepath.Join(dir, name); isFile(path) {
			return path
		}
	}
	ts.Fatalf("there is no %s", name)
	return ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func environ(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "PHONEBOOTH_SERVER", "PHONEBOOTH_TOKEN", "GORACE", "GOCOVERDIR"} {
		if value := ts.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

var (
	serverURL = regexp.MustCompile(`^phonebooth server: (http\S+)$`)
	agentHost = regexp.MustCompile(`^phonebooth agent: (host_\S+) of `)
)

func serve(ts *testscript.TestScript, _ bool, args []string) {
	url := start(ts, "server", serverURL, append([]string{"server", "--data", "data", "--listen", "127.0.0.1:0"}, args...)...)
	ts.Setenv("PHONEBOOTH_SERVER", url)
	ts.Setenv("ADDRESS", strings.TrimPrefix(url, "http://"))
	ts.Setenv("PORT", url[strings.LastIndexByte(url, ':')+1:])
	ts.Setenv("PHONEBOOTH_TOKEN", strings.TrimSpace(ts.ReadFile("data/admin.token")))
}

func host(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Exec("phonebooth", "host", "enroll", "--name", args[0]))
	ts.Check(os.WriteFile(ts.MkAbs("enroll.token"), []byte(ts.ReadFile("stdout")), 0o600))
	ts.Setenv("HOST", start(ts, "agent", agentHost, append([]string{"agent", "--adb", "off", "--enroll-file", "enroll.token", "--data", args[0]}, args[1:]...)...))
	until(ts, false, []string{args[0] + `\s+ready\s+[1-9]`, "phonebooth", "host", "list"})
}

func stop(ts *testscript.TestScript, _ bool, args []string) {
	cmd := ts.Value(processes).(map[string]*exec.Cmd)[args[0]]
	ts.Check(cmd.Process.Signal(syscall.SIGTERM))
	if err := cmd.Wait(); err != nil {
		ts.Fatalf("%s ended with %v", args[0], err)
	}
}

func interrupt(ts *testscript.TestScript, _ bool, args []string) {
	cmd := exec.Command(program(ts, args[1]), args[2:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), environ(ts)
	out, err := os.Create(ts.MkAbs("interrupted"))
	ts.Check(err)
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	ts.Check(cmd.Start())
	ts.Defer(func() { _ = cmd.Process.Kill() })
	eventually(ts, "something to be written", func() bool {
		info, err := out.Stat()
		return err == nil && info.Size() > 0
	})
	ts.Check(cmd.Process.Signal(os.Interrupt))
	expectCode(ts, args[0], cmd.Wait())
}

func until(ts *testscript.TestScript, _ bool, args []string) {
	pattern := regexp.MustCompile("(?m)" + args[0])
	eventually(ts, args[0], func() bool {
		_ = ts.Exec(args[1], args[2:]...)
		return pattern.MatchString(ts.ReadFile("stdout"))
	})
}

func eventually(ts *testscript.TestScript, what string, done func() bool) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !done(); <-tick.C {
		if time.Now().After(deadline) {
			ts.Fatalf("waited in vain for %s", what)
		}
	}
}

func variable(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(args[1])))
}

func goalIs(ts *testscript.TestScript, _ bool, args []string) {
	var task struct{ Goal string }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &task))
	if want := ts.ReadFile(args[0]); task.Goal != want {
		ts.Fatalf("the goal is %.200q, want %.200q", task.Goal, want)
	}
}
