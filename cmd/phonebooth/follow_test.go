//go:build linux

package main_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const talkers = `
runners:
  - name: lines
    drivers: [sim]
    argv: [sh, -c, 'i=0; while test $i -lt 300; do echo "line $i of a long story"; i=$((i+1)); sleep 0.02; done; printf "no line break"; exit 1']
  - name: times
    drivers: [sim]
    argv: [sh, -c, 'i=0; while test $i -lt 200; do date +%s%N; i=$((i+1)); sleep 0.0$((10 + i % 83)); done']
`

// The user types it before there is a device; the control plane is killed, and then stopped, while the runner writes.
func TestC38_ALogThatIsFollowedHasEveryByteOnceOverDeathsOfTheControlPlane(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	p := b.server(t)
	id := strings.TrimSpace(b.run(t, "submit", "--goal", "x", "--runner", "lines"))
	out, err := os.Create(b.path("followed"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var said bytes.Buffer
	follow := b.command("task", "log", "--follow", id)
	follow.Env, follow.Stdout, follow.Stderr = append(follow.Env, b.user...), out, &said
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = follow.Process.Kill() })
	p.agent(t, "h1", 1, "--config", b.write(t, "talkers.yaml", talkers))
	heard := func(line string) {
		t.Helper()
		eventually(t, line, func() bool { return strings.Contains(read(t, out.Name()), line) })
	}
	heard("line 40 ")
	p.kill()
	p.restart(t)
	heard("line 120 ")
	p.signal(t, syscall.SIGTERM)
	p.exit(t)
	p.restart(t)
	_ = follow.Wait()
	var want strings.Builder
	for i := range 300 {
		fmt.Fprintf(&want, "line %d of a long story\n", i)
	}
	want.WriteString("no line break")
	if got := read(t, out.Name()); got != want.String() {
		t.Errorf("followed %d bytes that end with %q, want %d", len(got), got[max(0, len(got)-80):], want.Len())
	}
	if code := follow.ProcessState.ExitCode(); code != 1 || !strings.Contains(said.String(), id+" failed") {
		t.Errorf("exit code %d, want the task's, 1; it said %s", code, said.String())
	}
	if task := p.task(t, id); task.Attempt != 1 {
		t.Errorf("it took %d attempts, want one", task.Attempt)
	}
}

// BenchmarkLineToFollower measures from the moment that a runner writes, which it writes down, to the moment that a line has
// come out of `task log --follow`. Both moments are this machine's wall clock.
//
//	go test ./cmd/phonebooth -run '^$' -bench LineToFollower -benchtime 1x
func BenchmarkLineToFollower(b *testing.B) {
	world := newBooth(b)
	p := world.dev(b, "--sim", "1", "--adb", "off", "--config", world.write(b, filepath.Base(b.Name())+".yaml", talkers))
	p.waitDevices(b, 1)
	var took []time.Duration
	for b.Loop() {
		id := strings.TrimSpace(world.run(b, "submit", "--goal", "x", "--runner", "times"))
		follow := world.command("task", "log", "--follow", id)
		out, err := follow.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := follow.Start(); err != nil {
			b.Fatal(err)
		}
		for lines := bufio.NewScanner(out); lines.Scan(); {
			written, err := strconv.ParseInt(lines.Text(), 10, 64)
			if err != nil {
				b.Fatalf("line %q: %v", lines.Text(), err)
			}
			took = append(took, time.Since(time.Unix(0, written)))
		}
		if err := follow.Wait(); err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(took)
	at := func(percent int) float64 {
		return float64(took[(len(took)-1)*percent/100].Microseconds()) / 1000
	}
	b.ReportMetric(0, "ns/op") // which would be the runner's
	b.ReportMetric(at(50), "p50-ms")
	b.ReportMetric(at(99), "p99-ms")
	b.ReportMetric(at(100), "max-ms")
}
