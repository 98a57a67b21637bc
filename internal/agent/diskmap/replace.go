package diskmap

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// partialPrefix starts the name of a file that is being written. No key can start so.
const partialPrefix = ".partial-"

func isPartial(name string) bool { return strings.HasPrefix(name, partialPrefix) }

// Replace makes data the content of the file at path (mode 0600) and returns when it
// would survive a power cut. Whoever reads the file, at any moment and after any
// crash, finds the old content or the new one. An error that is ErrFull means that
// there was no room; the old content is still there. No error names the file.
func Replace(path string, data []byte) error {
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, partialPrefix+"*")
	if err != nil {
		return fmt.Errorf("write a document: %w", full(err))
	}
	if err := fill(file, data); err != nil {
		_ = os.Remove(file.Name()) // Open removes it if this does not
		return fmt.Errorf("write a document: %w", full(err))
	}
	if err := os.Rename(file.Name(), path); err != nil {
		_ = os.Remove(file.Name())
		return fmt.Errorf("write a document: %w", full(err))
	}
	return syncDir(dir)
}

// fill writes, syncs and closes file.
func fill(file *os.File, data []byte) error {
	_, err := file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// syncDir makes the names in dir as lasting as the files that they lead to.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync the directory: %w", nameless(err))
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("sync the directory: %w", full(err))
	}
	return nil
}

// full marks the errors that mean that there is no room.
func full(err error) error {
	err = nameless(err)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// nameless is err without the names of files, which may be secrets.
func nameless(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", pathErr.Op, pathErr.Err)
	}
	if linkErr, ok := errors.AsType[*os.LinkError](err); ok {
		return fmt.Errorf("%s: %w", linkErr.Op, linkErr.Err)
	}
	return err
}
