//go:build linux

package main_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// smallDisk puts a file system of the given size, as mount takes it, in the place of a directory.
func smallDisk(t testing.TB, dir, size string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("phonebooth-test", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0700,size="+size); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("a small disk is needed, which root may mount: %v", err)
		}
		t.Skipf("no small disk, which only root may mount: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount the small disk: %v", err)
		}
	})
}

// fill writes to a file until the disk is full.
func fill(t testing.TB, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for block := make([]byte, 1<<20); len(block) > 0; {
		if _, err := file.Write(block); errors.Is(err, syscall.ENOSPC) {
			block = block[:len(block)/2]
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestAHostWhoseDiskIsFullAsksForNoWorkAndSaysSo(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	p := b.server(t, "--lease-ttl", shortLease)
	smallDisk(t, b.path("h1"), "80m")
	config := b.write(t, "disk.yaml", `runners: [{name: quiet, argv: [sh, -c, 'until test -e "$HOME/gate"; do sleep 0.1; done']}]`)
	p.agent(t, "h1", 1, "--config", config)
	quiet := v1.TaskRequest{Goal: "x", Constraints: v1.Constraints{Runner: "quiet"}}
	device := func() v1.Device { return p.devices(t)[0] }
	p.waitDevices(t, 1)

	// What runs when the disk becomes full ends as it ends.
	running := p.submit(t, quiet)
	p.waitRunning(t, running, 1)
	filler := filepath.Join(b.path("h1"), "filler")
	fill(t, filler)
	b.openGate(t)
	if task := p.waitStatus(t, running, "done"); task.Attempt != 1 {
		t.Errorf("what ran when the disk became full is done in attempt %d, want 1", task.Attempt)
	}
	eventually(t, "the host's word", func() bool {
		d := device()
		return d.Condition == "unhealthy" && strings.Contains(d.ConditionReason, "disk has no room")
	})
	waiting := p.submit(t, quiet)
	if d := device(); d.Unavailable == "" || p.task(t, waiting).Status != "queued" {
		t.Errorf("a task is %s, the device is %+v; want it to wait", p.task(t, waiting).Status, d)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if task := p.waitStatus(t, waiting, "done"); task.Attempt != 1 {
		t.Errorf("the task that waited is done in attempt %d, want 1", task.Attempt)
	}
	p.waitDevices(t, 1)
}
