package agent_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/agent"
	"github.com/phonebooth-dev/phonebooth/internal/telemetry"
	"github.com/phonebooth-dev/phonebooth/runner"
)

// by gives the host a goal for one of the runners.
func (s *scripted) by(name, device, goal string) *held {
	return s.assign(device, v1.AgentTask{Goal: goal, Runner: name})
}

// kept waits until the artifacts of h are those named, and returns their texts in that order.
func (s *scripted) kept(t *testing.T, h *held, want ...string) (texts []string) {
	t.Helper()
	s.until(t, fmt.Sprintf("the artifacts %q", want), func() bool {
		for _, name := range want {
			if _, ok := h.files[name]; !ok {
				return false
			}
		}
		return true
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(h.files) != len(want) {
		t.Errorf("%d artifacts, want %q", len(h.files), want)
	}
	for _, name := range want {
		texts = append(texts, h.files[name])
	}
	return texts
}

// eventsOf is the events of h, by type and what they say.
func (s *scripted) eventsOf(t *testing.T, h *held) (all []string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range strings.Lines(string(h.events)) {
		var e runner.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Time.IsZero() {
			t.Errorf("event %q: %v, want JSON with a time", line, err)
		}
		all = append(all, strings.TrimSpace(e.Type+" "+e.Name+e.Message))
	}
	return all
}

func TestAProgramIsToldOfInputsThatHaveADefault(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	a := h.by("told", "sim-1", "rest")
	check(t, h.ended(t, a), "done", "")
	h.logged(t, a, "rest! unset 1\n")
}

func TestC37_ARunnerReadsMoreOfItsOutputThanALogMayHave(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	h.do(func() { h.deaf = true }) // nothing is sent, so a log that is too large is cut
	a := h.by("counted", "sim-1", "head -c 68000000 /dev/zero; sleep 0.6; printf over")
	r := h.ended(t, a)
	if check(t, r, "failed", "counted"); r.Message != "68000004 <nil>" {
		t.Errorf("the runner has read %s bytes, want all", r.Message)
	}
}

func TestTheCommandsThatPassedAreTheDevicesLog(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{Secrets: map[string]telemetry.Secret{"S": telemetry.NewSecret("hunter2-hunter2")}})
	a := h.goal("sim-1", "print x")
	check(t, h.ended(t, a), "done", "")
	h.until(t, "a line in the device's log", func() bool { return contains(a.device, "\n") })
	h.do(func() {
		if want := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ shell echo sim-1\\nwith \*{15}\n$`); !want.Match(a.device) {
			t.Errorf("the device's log is %q, want it to match %s", a.device, want)
		}
	})
}

func TestWhatAProgramLeavesArrivesBeforeItsReport(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	a := h.by("small", "sim-1", `
		echo '{"type":"step","name":"open"}' > "$PHONEBOOTH_EVENTS"; echo nonsense >> "$PHONEBOOTH_EVENTS"
		echo '{"type":"progress","percent":50,"message":"half"}' >> "$PHONEBOOTH_EVENTS"
		mkdir -p "$PHONEBOOTH_ARTIFACTS/deep"; echo shot > "$PHONEBOOTH_ARTIFACTS/deep/one.txt"; echo '<x/>' > report-1.xml; echo no > other.xml
		printf 'no end of line'; echo '{"outcome":"failed","code":"mine","result":[1]}' > "$PHONEBOOTH_RESULT"`)
	r := h.ended(t, a)
	if check(t, r, "failed", "mine"); string(r.Result) != "[1]" {
		t.Errorf("result = %s", r.Result)
	}
	h.do(func() { // all of it came first
		if diff := cmp.Diff(map[string]string{"deep/one.txt": "shot\n", "report-1.xml": "<x/>\n"}, a.files); diff != "" {
			t.Errorf("artifacts (-want +got):\n%s", diff)
		}
		if want := "no end of line\n[phonebooth: lines of the events that were dropped: 1; the first one was line 2: it is not a JSON object of an event's shape]\n"; string(a.log) != want {
			t.Errorf("log = %q, want %q", a.log, want)
		}
	})
	if diff := cmp.Diff([]string{"step open", "progress half"}, h.eventsOf(t, a)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	eventually(t, "the end of the working directory", func() bool { return len(files(h.dir, "run", "*")) == 0 })
}

func TestARunnerReadsItsOwnSectionOfTheLogAndAddsArtifacts(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	a := h.by("parsed", "sim-1", "echo what it says")
	r := h.ended(t, a)
	if check(t, r, "failed", "parsed"); r.Message != "what it says" {
		t.Errorf("message = %q", r.Message)
	}
	if got := h.kept(t, a, "parsed.txt"); got[0] != "what it says\n" {
		t.Errorf("artifact = %q", got)
	}
}

func TestC02_ASilentRunnerWithALimitIsStopped(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 3, agent.Options{})
	pids := t.TempDir()
	silent := h.by("quiet", "sim-1", "echo $$ > "+pids+"/runner; exec sleep 600")
	// One second of silence is allowed: these are never silent for so long, but take longer.
	beat := `for i in 1 2 3 4 5 6 7 8; do sleep 0.25; %s; done`
	heartbeat := h.by("quiet", "sim-2", fmt.Sprintf(beat, `echo '{"type":"heartbeat"}' >> "$PHONEBOOTH_EVENTS"`))
	output := h.by("quiet", "sim-3", fmt.Sprintf(beat, "printf ."))
	r := h.ended(t, silent)
	if check(t, r, "failed", "timeout"); !strings.Contains(r.Message, "silent for too long") || !strings.Contains(r.Message, "1s") {
		t.Errorf("message = %q, want it to say that and how long", r.Message)
	}
	dead(t, pidIn(t, pids+"/runner"))
	check(t, h.ended(t, heartbeat), "done", "")
	check(t, h.ended(t, output), "done", "")
	h.condition(t, "sim-1", phonebooth.Ready)
}

func TestC03_ARunnerThatExitsAtOnceEndsTheAttemptAtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	check(t, h.ended(t, h.by("needy", "sim-1", "g")), "failed", "credentials")
	check(t, h.ended(t, h.shell("sim-1", "exit 1")), "failed", "runner_failed")
	check(t, h.ended(t, h.shell("sim-1", "exit 78")), "failed", "runner_misconfigured")
	check(t, h.ended(t, h.goal("sim-1", "print next")), "done", "")
}

func TestABadResultIsExplainedAndTheAttemptEnds(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 4, agent.Options{})
	for i, c := range []struct{ left, why string }{
		{`echo '{"outcome":' > "$PHONEBOOTH_RESULT"`, "the result does not count: the result is not JSON"},
		{`head -c 600000 /dev/zero > "$PHONEBOOTH_RESULT"`, "the result is longer than 524288 bytes"},
		{`ln -s /etc/passwd "$PHONEBOOTH_RESULT"`, "the result is a symbolic link"},
		{`mkfifo "$PHONEBOOTH_RESULT" "$PHONEBOOTH_EVENTS" "$PHONEBOOTH_OUTPUTS"`, "the result is no regular file"},
	} {
		a := h.shell(fmt.Sprintf("sim-%d", i+1), c.left)
		check(t, h.ended(t, a), "done", "")
		h.logged(t, a, c.why)
	}
}

func TestBadArtifactsAreRefusedAndTheAttemptEnds(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 2, agent.Options{})
	a := h.by("small", "sim-1", `cd "$PHONEBOOTH_ARTIFACTS"; ln -s /etc/passwd link; ln -s ../../../../../../etc up; mkfifo pipe; mknod null c 1 3 2>/dev/null
		echo good > good; ln good twin; truncate -s 2M large; ln -s ../../lease ../report-1.xml`)
	check(t, h.ended(t, a), "done", "")
	h.kept(t, a, "good", "twin")
	for _, why := range []string{
		`"link" is not kept: it is a symbolic link`, `"up" is not kept: it is a symbolic link`, `"pipe" is not kept: it is no regular file`,
		`"large" is not kept: all files together have at most 1 MiB`, `"report-1.xml" is not kept: it is a symbolic link`,
	} {
		h.logged(t, a, why)
	}
	b := h.shell("sim-2", `rm -rf "$PHONEBOOTH_ARTIFACTS"; ln -s /etc "$PHONEBOOTH_ARTIFACTS"`)
	check(t, h.ended(t, b), "done", "")
	h.logged(t, b, `"artifacts" is not kept: it is no directory any more`)
	h.kept(t, b)
}

func TestARunnerWhoseArtifactsAreTooLargeIsStopped(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	a := h.by("small", "sim-1", `echo x > "$PHONEBOOTH_ARTIFACTS/a"; truncate -s 2M "$PHONEBOOTH_ARTIFACTS/b"; exec sleep 600`)
	r := h.ended(t, a)
	if check(t, r, "failed", "runner_failed"); !strings.Contains(r.Message, "too large") || !strings.Contains(r.Message, "1 MiB") {
		t.Errorf("message = %q, want it to name the limit", r.Message)
	}
	h.kept(t, a, "a")
}

func TestAnArtifactThatIsRefusedKeepsNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	h.do(func() { h.tooLarge = 3 })
	a := h.shell("sim-1", `cd "$PHONEBOOTH_ARTIFACTS"; echo large > a; echo b > b`)
	check(t, h.ended(t, a), "done", "")
	h.kept(t, a, "b")
	eventually(t, "the end of the working directory", func() bool { return len(files(h.dir, "run", "*")) == 0 })
}

func TestAReportTellsHowManyArtifactsFollowIt(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1, agent.Options{})
	hold := make(chan struct{})
	h.do(func() { h.tooLarge, h.holdArtifacts = 3, hold })
	a := h.shell("sim-1", `cd "$PHONEBOOTH_ARTIFACTS"; echo a > a; echo b > b; echo large > c`)
	if r := h.ended(t, a); r.Artifacts != 3 {
		t.Errorf("the report announces %d artifacts, want 3", r.Artifacts)
	}
	close(hold)
	h.kept(t, a, "a", "b")
	h.until(t, "that the third will not come", func() bool { _, told := a.ends[v1.Artifacts]; return told })

	b := h.shell("sim-1", `echo a > "$PHONEBOOTH_ARTIFACTS/a"`)
	if r := h.ended(t, b); r.Artifacts != 0 {
		t.Errorf("a report behind its artifacts announces %d, want none", r.Artifacts)
	}
}

func TestC36_WhatAProgramLeftOutlivesTheAgent(t *testing.T) {
	t.Parallel()
	for name, signal := range deaths {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, url, dir := remoteHouse(t)
			first := startRemote(t, url, dir)
			s.condition(t, "sim-1", phonebooth.Ready)
			a := s.shell("sim-1", `echo up; read x < `+fifo(t)+`; echo art > "$PHONEBOOTH_ARTIFACTS/a"; echo '{"type":"heartbeat"}' > "$PHONEBOOTH_EVENTS"`)
			s.logged(t, a, "up")
			s.reportedBeforeDeath(t, a, first, signal, url, dir)
			if got := s.kept(t, a, "a"); got[0] != "art\n" {
				t.Errorf("artifact = %q", got)
			}
			s.until(t, "an event and the device's log", func() bool { return contains(a.events, "heartbeat") && contains(a.device, "sim-1") })
			eventually(t, "the end of the working directory", func() bool { return len(files(dir, "run", "*")) == 0 })
		})
	}
}

func TestC06_WhatAProgramLeftUnderADeadAgentIsReadByTheNext(t *testing.T) {
	t.Parallel()
	s, url, dir := remoteHouse(t)
	first := startRemote(t, url, dir)
	s.condition(t, "sim-1", phonebooth.Ready)
	a := s.by("parsed", "sim-1", `echo up; read x < `+fifo(t)+`; echo art > "$PHONEBOOTH_ARTIFACTS/a"; echo '{"type":"heartbeat"}' > "$PHONEBOOTH_EVENTS"`)
	s.logged(t, a, "up")
	if err := first.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	(&house{scripted: s}).release(t, a)
	eventually(t, "the exit file", func() bool { return len(files(dir, "run", "*", "step-0.0", "exit.json")) == 1 })
	die(t, first, syscall.SIGKILL)
	startRemote(t, url, dir)
	if r := s.ended(t, a); r.Code != "parsed" || r.Message != "up" {
		t.Errorf("report = %+v, want what the runner reads of its log", r)
	}
	s.kept(t, a, "a", "parsed.txt")
	s.until(t, "an event", func() bool { return contains(a.events, "heartbeat") })
}

func TestC37_AnyOutputIsCarriedInBoundedPieces(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 2, agent.Options{})
	line := h.shell("sim-1", "head -c 10485760 /dev/zero | tr '\\0' x; echo; echo tail")
	binary := h.shell("sim-2", `printf '\000\377\376\033[31m\n'`)
	check(t, h.ended(t, line), "done", "")
	check(t, h.ended(t, binary), "done", "")
	h.logged(t, line, "tail\n")
	h.do(func() {
		if len(line.log) != 10<<20+len("\ntail\n") {
			t.Errorf("%d bytes of the long line arrived", len(line.log))
		}
		if string(binary.log) != "\x00\xff\xfe\x1b[31m\n" {
			t.Errorf("binary output arrived as %q", binary.log)
		}
	})
}

func TestC41_ASecretIsInItsRunnersEnvironmentAndNowhereElse(t *testing.T) {
	t.Parallel()
	const key = "s3cr3t-k3y"
	pem := "-----BEGIN-----\nMIIEvQIBADANBg\n-----END-----\n"
	h := newHouse(t, 1, agent.Options{Secrets: map[string]telemetry.Secret{
		"API_KEY": telemetry.NewSecret(key), "PEM": telemetry.NewSecret(pem), "OTHER": telemetry.NewSecret("another-one"),
	}})
	pids := t.TempDir()
	a := h.by("trusted", "sim-1", `echo $$ > `+pids+`/runner; env; printf %s "$API_KEY" | head -c 4; sleep 0.4; printf %s "$API_KEY" | tail -c +5; echo " over"
		read x < `+fifo(t)+`; echo "{\"type\":\"step\",\"name\":\"with $API_KEY\"}" > "$PHONEBOOTH_EVENTS"
		echo "k=$API_KEY" > "$PHONEBOOTH_OUTPUTS"; echo x > "$PHONEBOOTH_ARTIFACTS/$API_KEY.txt"; printf %s "me:$API_KEY" | base64
		echo "{\"outcome\":\"failed\",\"message\":\"$API_KEY was refused\",\"result\":{\"$API_KEY\":[\"MIIEvQIBADANBg\"]}}" > "$PHONEBOOTH_RESULT"`)
	pid := pidIn(t, pids+"/runner")
	h.logged(t, a, " over")
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"API_KEY=" + key + "\x00", "PEM=" + pem + "\x00"} {
		if !strings.Contains(string(environ), want) {
			t.Errorf("the runner's environment lacks %.8s", want)
		}
	}
	if strings.Contains(string(environ), "another-one") {
		t.Error("the runner has a secret that it did not name")
	}
	for _, line := range commandLines(t) {
		if strings.Contains(line, key) || strings.Contains(line, "MIIEvQ") {
			t.Errorf("a secret is in a process list: %q", line)
		}
	}
	h.release(t, a)
	r := h.ended(t, a)
	check(t, r, "failed", "runner_failed")
	h.kept(t, a, "**********.txt")
	report, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	h.until(t, "the event", func() bool { return contains(a.events, "with **********") })
	h.do(func() {
		for name, text := range map[string]string{
			"log": string(a.log), "events": string(a.events), "device's log": string(a.device), "report": string(report), "agent's log": h.logs.String(),
		} {
			if strings.Contains(text, key) || strings.Contains(text, "MIIEvQIBADANBg") {
				t.Errorf("a secret is in the %s:\n%s", name, text)
			}
		}
		for _, want := range []string{"API_KEY=**********\n", "\n********** over", "bWU6" + strings.Repeat("*", 14) + "==\n", "PEM=" + strings.Repeat("*", len(pem)) + "\n"} {
			if !strings.Contains(string(a.log), want) {
				t.Errorf("the log lacks %q:\n%s", want, a.log)
			}
		}
	})
	if want := "********** was refused"; r.Message != want || string(r.Result) != `{"**********":["**************"]}` {
		t.Errorf("report = %q %s, want %q and stars", r.Message, r.Result, want)
	}
	missing := h.ended(t, h.by("needy", "sim-1", "g"))
	if check(t, missing, "failed", "credentials"); !strings.Contains(missing.Message, "ABSENT") || strings.Contains(missing.Message, key) {
		t.Errorf("message = %q, want it to name the secret that is missing", missing.Message)
	}
}

// commandLines are those of all processes.
func commandLines(t *testing.T) (lines []string) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if text, err := os.ReadFile(path); err == nil {
			lines = append(lines, string(text))
		}
	}
	return slices.Compact(lines)
}
