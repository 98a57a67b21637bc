package minder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

var errAbsent = errors.New("does not exist")

// locate finds the file of a program as the runner's own shell would: names without a
// slash in the PATH of env, others from dir. Its errors are for people and name
// nothing but the program.
func locate(program, dir string, env []string) (string, error) {
	if strings.Contains(program, "/") {
		path := program
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		return path, runnable(program, path)
	}
	var refused error
	for _, place := range filepath.SplitList(valueOf(env, "PATH")) {
		if !filepath.IsAbs(place) {
			continue // what runs must not depend on what a task left in its directory
		}
		path := filepath.Join(place, program)
		err := runnable(program, path)
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, errAbsent) && refused == nil {
			refused = err
		}
	}
	if refused != nil {
		return "", refused
	}
	return "", fmt.Errorf("program %q is not in the runner's PATH", program)
}

// runnable says why the file at path cannot be run as program, if it cannot.
func runnable(program, path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("program %q %w", program, errAbsent)
	case err != nil:
		return fmt.Errorf("program %q cannot be looked at: %w", program, syscallError(err))
	case info.IsDir():
		return fmt.Errorf("program %q is a directory", program)
	case info.Mode().Perm()&0o111 == 0:
		return fmt.Errorf("program %q is not executable (mode %04o)", program, info.Mode().Perm())
	}
	return nil
}

// startError explains why the system refused to run a program that is there.
func startError(program string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOENT):
		return fmt.Errorf("program %q cannot run: the interpreter that it names does not exist", program)
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("program %q cannot run: it is neither a binary of this system nor a script with a #! line", program)
	case errors.Is(err, syscall.E2BIG):
		return fmt.Errorf("program %q cannot run: its arguments and environment are larger than the system allows", program)
	}
	return fmt.Errorf("program %q cannot run: %w", program, syscallError(err))
}

// syscallError is the bare reason of err, without paths.
func syscallError(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return err
}

// valueOf is the last value of a variable in env, as a shell would see it.
func valueOf(env []string, name string) string {
	value := ""
	for _, entry := range env {
		if v, found := strings.CutPrefix(entry, name+"="); found {
			value = v
		}
	}
	return value
}

// marked is env with the cookie in it, and with no other cookie.
func marked(env []string, cookie string) []string {
	out := make([]string, 0, len(env)+1)
	for _, entry := range env {
		if !strings.HasPrefix(entry, CookieVar+"=") {
			out = append(out, entry)
		}
	}
	return append(out, CookieVar+"="+cookie)
}
