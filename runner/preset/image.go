package preset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/runner"
)

// maxImage is how long a picture of a screen may be.
const maxImage = 256 << 20

// imageEnd is how every whole PNG ends: a chunk IEND of no bytes, with its checksum.
var imageEnd = []byte("\x00\x00\x00\x00IEND\xae\x42\x60\x82")

// picture is what is said of a picture.
type picture struct {
	File   string `json:"file"`
	Bytes  int64  `json:"bytes"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
}

// readPNG is done when the program that ended with 0 has left a PNG among its artifacts, and each PNG there is whole.
func readPNG(e runner.End) (phonebooth.Report, bool) {
	if e.Code != 0 {
		return phonebooth.Report{}, false
	}
	entries, err := os.ReadDir(e.Place.Artifacts)
	if err != nil {
		return runner.Failed("runner_failed", "the artifacts cannot be read"), true
	}
	var pictures []picture
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) != ".png" {
			continue
		}
		p, err := look(filepath.Join(e.Place.Artifacts, entry.Name()))
		if err != nil {
			return runner.Failed("runner_failed", fmt.Sprintf("%s is no whole PNG: %v", runner.Clean(entry.Name(), 255), err)), true
		}
		p.File = runner.Clean(entry.Name(), 255)
		pictures = append(pictures, p)
	}
	if len(pictures) == 0 {
		return runner.Failed("runner_failed", "there is no PNG among the artifacts"), true
	}
	result, err := json.Marshal(map[string]any{"pictures": pictures})
	if err != nil {
		return runner.Failed("runner_failed", "the pictures cannot be described"), true
	}
	return phonebooth.Report{Outcome: phonebooth.OutcomeDone, Result: result}, true
}

// look reads how large a picture is, and whether its end is there.
func look(path string) (p picture, err error) {
	// A program could leave a pipe, or a link to what it should not show.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return p, errors.New("it cannot be opened")
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil || !info.Mode().IsRegular():
		return p, errors.New("it is no regular file")
	case info.Size() == 0:
		return p, errors.New("it is empty")
	case info.Size() > maxImage:
		return p, fmt.Errorf("it is longer than %d bytes", maxImage)
	}
	config, err := png.DecodeConfig(file)
	if err != nil {
		return p, errors.New("it does not begin as one")
	}
	end := make([]byte, len(imageEnd))
	if _, err := file.ReadAt(end, max(info.Size()-int64(len(end)), 0)); err != nil && !errors.Is(err, io.EOF) || !bytes.Equal(end, imageEnd) {
		return p, errors.New("its end is missing")
	}
	return picture{Bytes: info.Size(), Width: config.Width, Height: config.Height}, nil
}
