//go:build linux

package main_test

import (
	"strconv"
	"strings"
	"testing"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/adb/adbtest"
)

// devWithPhone is `dev` beside a real adb server to which a simulated phone is attached.
func devWithPhone(t *testing.T) *plane {
	t.Helper()
	adb := adbtest.NewServer(t)
	b := newBooth(t)
	phone := freeAddress(t)
	b.start(t, "simdevice", "--listen", phone, "--model", "Pixel 77").expect(t, simdeviceReady)
	adb.Attach(t, phone)
	for _, entry := range adb.Env() { // the agent finds the server as adb does
		if strings.HasPrefix(entry, "ADB_SERVER_SOCKET=") || strings.HasPrefix(entry, "ANDROID_ADB_SERVER_PORT=") {
			b.env = append(b.env, entry)
		}
	}
	return b.dev(t)
}

func TestDone2_AGoalReachesAPhoneThroughTheRealADBServer(t *testing.T) {
	t.Parallel()
	p := devWithPhone(t)
	task := one[v1.Task](t, p.run(t, "submit", "--driver", "android", "--runner", "adb-shell", "--goal", "getprop ro.product.model", "--wait", "-o", "json"))
	if task.Status != "done" || task.Attempt != 1 {
		t.Errorf("the task is %+v, want it done in attempt 1", task)
	}
	if got := p.run(t, "task", "log", task.ID); got != "Pixel 77\n" {
		t.Errorf("the log is %q, want the phone's model", got)
	}
}

func TestC40_GoalsReachAPhonesShellUnharmed(t *testing.T) {
	t.Parallel()
	p := devWithPhone(t)
	for _, c := range []struct {
		goal, status, log string
	}{
		{`echo "it's" 'a "quote"'`, "done", "it's a \"quote\"\n"},
		{"echo one\necho two", "done", "one\ntwo\n"},
		{"echo 📱 שלום \u202eabc\u202c", "done", "📱 שלום \u202eabc\u202c\n"},
		{"echo " + strings.Repeat("x", 60_000), "done", strings.Repeat("x", 60_000) + "\n"},
		{"echo " + strings.Repeat("x", 100_000), "failed", ""}, // adb cannot carry it
		{"-x", "failed", ""},
		{"--help", "failed", ""},
		{"false", "failed", ""},
	} {
		o := p.try(t, "submit", "--driver", "android", "--goal="+c.goal, "--wait", "-o", "json")
		task := one[v1.Task](t, o.stdout)
		log := p.run(t, "task", "log", task.ID)
		if task.Status != c.status || task.Attempt != 1 || c.log != "" && log != c.log {
			t.Errorf("%.60q is %s in attempt %d with the log %.100q, want it %s with %.100q", c.goal, task.Status, task.Attempt, log, c.status, c.log)
		}
	}
}

func TestDone3_KillNineInTheMiddleLosesNoTask(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	p := b.dev(t, "--sim", "2", "--adb", "off", "--config", b.runners(t))
	var tasks []string
	for i := range 20 {
		task := sim("sleep 1")
		if i == 4 || i == 5 {
			task = by("second") // which run when the process is killed, however slow this machine is
		}
		tasks = append(tasks, p.submit(t, task))
	}
	p.waitRunning(t, tasks[4], 1)
	p.waitRunning(t, tasks[5], 1)
	for i, want := range map[int]string{0: "done", 3: "done", 6: "queued", 19: "queued"} {
		if task := p.task(t, tasks[i]); task.Status != want {
			t.Fatalf("task %d is %s, want %s", i, task.Status, want)
		}
	}
	p.kill()
	eventually(t, "no runner without its agent", func() bool { return len(b.processes()) == 0 })

	p.restart(t)
	for i, id := range tasks {
		task := p.waitStatus(t, id, "done")
		if want := map[bool]int{true: 2, false: 1}[i == 4 || i == 5]; task.Attempt != want {
			t.Errorf("task %d is done in attempt %d, want %d", i, task.Attempt, want)
		}
		for i, a := range p.typedAttempts(t, id) {
			if want := task.Attempt; (a.Ending == "done") != (i+1 == want) || a.Ending == "" || a.EndedAt == nil {
				t.Errorf("task %s attempt %d ended as %q at %v, %d attempts in all", id, a.Number, a.Ending, a.EndedAt, want)
			}
		}
	}
	eventually(t, "the end of every minder", func() bool { return len(b.minders()) == 0 })
	for _, id := range tasks {
		if left := b.runnersOf(id); len(left) > 0 {
			t.Errorf("alive of task %s: %v", id, left)
		}
	}
	for _, d := range one[v1.DeviceList](t, b.run(t, "device", "list", "-o", "json")).Devices {
		if d.TaskID != "" || d.Unavailable != "" && d.Unavailable != "cleaning" {
			t.Errorf("device %s is held by %q and is %q, want it free", d.Name, d.TaskID, d.Unavailable)
		}
	}
}

func TestS4_2_ATaskEndsAsItsRunnerEnds(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	p := b.dev(t, "--sim", "2", "--adb", "off")
	for _, c := range []struct {
		goal     string
		code     int
		status   string
		failure  string
		attempts int
	}{
		{"print fine", 0, "done", "", 1},
		{"exit 3", 1, "failed", "runner_failed", 1},
		{"exit 2", 1, "failed", "invalid_task", 1},
		{"exit 75", 1, "failed", "try_again", 2}, // given back, until no attempt is left
	} {
		o := b.try(t, "submit", "--driver", "sim", "--goal", c.goal, "--max-attempts", "2", "--wait", "-o", "json")
		task := one[v1.Task](t, o.stdout)
		code := ""
		if task.Failure != nil {
			code = task.Failure.Code
		}
		if o.code != c.code || task.Status != c.status || code != c.failure || task.Attempt != c.attempts {
			t.Errorf("%q: exit code %d, %s with %q after %s attempts; want %+v", c.goal, o.code, task.Status, code, strconv.Itoa(task.Attempt), c)
		}
	}
	p.waitDevices(t, 2)
}

func TestC02_ARunnerThatHangsIsEndedByItsTimeoutOrItsCancellation(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	p := b.dev(t, "--sim", "1", "--adb", "off")
	hanging := sim("ignore-signals; hang")
	hanging.TimeoutS = 2
	late := p.submit(t, hanging)
	p.waitRunning(t, late, 1)
	if task := p.waitStatus(t, late, "failed"); task.Failure.Code != "timeout" || task.Attempt != 1 {
		t.Errorf("the task failed with %+v in attempt %d, want timeout in attempt 1", task.Failure, task.Attempt)
	}
	if left := b.runnersOf(late); len(left) > 0 {
		t.Errorf("alive when the attempt had ended: %v", left)
	}
	hanging.TimeoutS = 0
	unwanted := p.submit(t, hanging)
	p.waitRunning(t, unwanted, 1)
	b.run(t, "task", "cancel", unwanted)
	p.waitStatus(t, unwanted, "cancelled")
	if left := b.runnersOf(unwanted); len(left) > 0 {
		t.Errorf("alive when the attempt had ended: %v", left)
	}
	next := p.submit(t, sim("print next"))
	if task := p.waitStatus(t, next, "done"); task.Attempt != 1 {
		t.Errorf("the next task took %d attempts", task.Attempt)
	}
}

func TestDone1_TheDemoNeedsNoOtherProgram(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	b.env = append(b.env, "PATH=/nonexistent")
	story := b.run(t, "demo")
	for _, want := range []string{"10 done, 1 failed, 1 cancelled", "attempt 2"} {
		if !strings.Contains(story, want) {
			t.Errorf("the demo does not show %q:\n%s", want, story)
		}
	}
}
