//go:build !linux

package webdriver

import (
	"context"
	"errors"
	"os"
	"os/exec"
)

// supported tells whether this system shows whose a process is. Where it does not no phone is ready, so none is opened.
const supported = false

type process struct{ ended chan struct{} }

func launch(*exec.Cmd) (*process, error) { return nil, errors.ErrUnsupported }

func (p *process) kill() {}

func endAll(context.Context, string) error { return errors.ErrUnsupported }

func lockFile(string) (*os.File, error) { return nil, errors.ErrUnsupported }

func abandoned(string) bool { return false }
