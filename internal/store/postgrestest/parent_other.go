//go:build !linux

package postgrestest

import "syscall"

// endWithParent can do nothing here: only Main ends the server.
func endWithParent(*syscall.SysProcAttr) {}
