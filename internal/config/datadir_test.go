package config_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/phonebooth-dev/phonebooth/internal/config"
)

func TestALockedDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "here")
	lock, err := config.LockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory %v, %v, want mode 0700", info, err)
	}
	_, err = config.LockDir(dir)
	var used *config.InUseError
	if !errors.As(err, &used) || used.PID != os.Getpid() || used.Dir != dir {
		t.Fatalf("error %v, want that process %d has %s", err, os.Getpid(), dir)
	}
	if !strings.Contains(err.Error(), "process "+strconv.Itoa(os.Getpid())) {
		t.Errorf("error %q does not name the process", err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	again, err := config.LockDir(dir)
	if err != nil {
		t.Fatalf("after Release: %v", err)
	}
	again.Release()
}

const holdEnv = "CONFIG_TEST_HOLD"

func TestALockEndsWithItsProcess(t *testing.T) {
	if dir := os.Getenv(holdEnv); dir != "" {
		if _, err := config.LockDir(dir); err != nil {
			t.Fatal(err)
		}
		fmt.Println("held")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	t.Parallel()
	dir := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run=^TestALockEndsWithItsProcess$")
	child.Env = append(os.Environ(), holdEnv+"="+dir)
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "held"; {
	}
	_, err = config.LockDir(dir)
	if used := new(config.InUseError); !errors.As(err, &used) || used.PID != child.Process.Pid {
		t.Errorf("error %v, want that process %d has it", err, child.Process.Pid)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	lock, err := config.LockDir(dir)
	if err != nil {
		t.Fatalf("after the holder was killed: %v", err)
	}
	lock.Release()
}

func TestTheHolderOfAnUnreadableLockIsAnotherProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := config.LockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	if err := os.Truncate(filepath.Join(dir, "LOCK"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := config.LockDir(dir); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("error %v, want another process", err)
	}
}

func TestAPlaceThatIsNoDirectoryCannotBeLocked(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.LockDir(file); err == nil {
		t.Error("a file was locked as a directory")
	}
}

func TestFreeSpace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if total, err := config.TotalSpace(dir); err != nil || total <= 0 {
		t.Errorf("TotalSpace = %d, %v, want some", total, err)
	}
	if free, err := config.FreeSpace(dir); err != nil || free <= 0 {
		t.Errorf("FreeSpace = %d, %v, want some", free, err)
	}
	if _, err := config.FreeSpace(filepath.Join(dir, "none")); err == nil {
		t.Error("a directory that is not there has free space")
	}
}
