//go:build linux

// The tests of this package run the real program: every verb is a process of its own, kills are kills, and what is left
// afterwards is looked for in /proc. They prove what no test inside one process can.
package main_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/phonebooth-dev/phonebooth/internal/store/postgrestest"
)

// binary is the program under test, built once. TestMain sets it before any test runs.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	// These tests wait for leases and processes more than they compute.
	if err := flag.Set("test.parallel", "8"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	dir, err := os.MkdirTemp("", "phonebooth-processes-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "phonebooth")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build the program:", err)
		return 2
	}
	return postgrestest.Wrap(m).Run()
}
