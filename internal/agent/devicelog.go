package agent

import (
	"bytes"
	"os"
	"sync"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/agent/mask"
)

// deviceLog writes down the commands that a bridge passes to the device of a lease: a line each, with the time. It may be
// written to from any goroutine. What comes after it was closed is dropped.
type deviceLog struct {
	path string
	mask *mask.Mask

	mu     sync.Mutex
	file   *os.File // nil before the first line
	closed bool
}

// maxCommand is how much of one command is written down.
const maxCommand = 4 << 10

// Write writes one line. An error is not the bridge's: what cannot be written down is done all the same.
func (d *deviceLog) Write(line []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return len(line), nil
	}
	if d.file == nil {
		file, err := os.OpenFile(d.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return len(line), nil
		}
		d.file = file
	}
	text := d.mask.Bytes(nil, bytes.Clone(bytes.TrimRight(line, "\r\n")), nil) // before it is shortened
	if len(text) > maxCommand {
		text = append(text[:maxCommand:maxCommand], "..."...)
	}
	text = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\n"), []byte(`\n`)), []byte("\r"), []byte(`\r`))
	_, _ = d.file.Write(append(append(time.Now().UTC().AppendFormat(nil, time.RFC3339), ' '), append(text, '\n')...)) // in one call
	return len(line), nil
}

func (d *deviceLog) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.file != nil {
		_ = d.file.Close()
	}
}
