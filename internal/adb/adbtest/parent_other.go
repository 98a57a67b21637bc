//go:build !linux

package adbtest

import "os/exec"

// dieWithParent can do nothing here: only Linux ends a child with its parent.
func dieWithParent(*exec.Cmd) {}
