package agent

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"sync"

	"github.com/phonebooth-dev/phonebooth/internal/agent/mask"
)

const (
	// maxLog is how large the file of a log may grow: a program that writes faster than the control plane takes must not fill
	// the host's disk. Where a runner reads what its program wrote, that is beside it.
	maxLog = 64 << 20
	// chunk is how much of a log is in memory at most.
	chunk = 256 << 10
)

// cutMark stands in a log where the file was emptied. It always does: nobody knows what was written in that moment.
const cutMark = "\n[phonebooth: the log was cut here, because it had grown too large: what was not sent before that is missing]\n"

// cutPath is the file that says how often the one at path was emptied.
func cutPath(path string) string { return path + ".cut" }

// logFile is the part of a log that is on the disk. It was emptied when it had grown too large, so it begins somewhere in the
// log. What is read of it holds no secret.
type logFile struct {
	path  string
	limit int64
	mask  *mask.Mask

	mu     sync.Mutex
	offset int64 // in the log, of the next byte to read
	at     int64 // of that byte in the file
	cuts   int   // how often the file was emptied
	lost   bool  // something of the log may have been dropped just before at
	torn   bool  // it is not known what was before the file's first byte
	extra  int64 // how much larger than limit the file may grow
}

// spot is a place in the file of a log.
type spot struct {
	Cuts int   `json:"cuts,omitempty"` // how often the file was emptied before
	At   int64 `json:"at"`
}

// next is what to send: the mark of a cut, or the file's next bytes. cuts tells which file that was. Before the last call it
// keeps back what may be the beginning of a secret.
func (f *logFile) next(last bool) (p []byte, offset int64, cuts int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if info, err := os.Stat(f.path); err == nil && info.Size() < f.at { // emptied in a former life, or by the program
		f.emptied()
	}
	if f.lost {
		return []byte(cutMark), f.offset, f.cuts, nil
	}
	reach := f.mask.Reach()
	from := max(f.at-int64(reach), 0)
	whole, ended, err := readAt(f.path, from, int(f.at-from)+chunk+reach)
	if err != nil {
		return nil, f.offset, f.cuts, err
	}
	before, rest := whole[:min(int(f.at-from), len(whole))], whole[min(int(f.at-from), len(whole)):]
	n := len(rest)
	if ended && !last {
		n -= f.mask.Open(rest)
	}
	n = min(n, chunk)
	if f.torn && f.at == 0 {
		if ended && !last && len(rest) < reach {
			n = 0 // it may be the end of a secret that was begun before
		}
		f.mask.Rest(rest)
	}
	return f.mask.Bytes(before, rest[:n:n], rest[n:]), f.offset, f.cuts, nil
}

// move goes on at offset in the log, which is as far away in the file, unless that has been emptied meanwhile. taken says that
// what next gave has arrived.
func (f *logFile) move(offset int64, cuts int, taken bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.cuts != cuts:
	case f.lost:
		f.lost = !taken
	default:
		f.at = max(f.at+offset-f.offset, 0)
	}
	f.offset = offset
}

// size is how long the log is so far: what was sent, and what is still in the file.
func (f *logFile) size() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	size := f.offset
	if f.lost {
		size += int64(len(cutMark))
	}
	return size + max(f.length()-f.at, 0)
}

// cut empties a file that is too large. The program goes on writing at its beginning, because it appends.
func (f *logFile) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	if err != nil || info.Size() <= f.limit+f.extra {
		return
	}
	count := strconv.AppendInt(nil, int64(f.cuts+1), 10)
	if os.WriteFile(cutPath(f.path), count, 0o600) == nil && os.Truncate(f.path, 0) == nil { // or else the next look will do
		f.emptied()
	}
}

// emptied notes that the file was. The caller holds mu.
func (f *logFile) emptied() {
	f.at, f.lost, f.torn, f.cuts = 0, true, true, f.cuts+1
}

// end is where the file ends now.
func (f *logFile) end() spot {
	f.mu.Lock()
	defer f.mu.Unlock()
	return spot{f.cuts, f.length()}
}

func (f *logFile) length() int64 {
	info, err := os.Stat(f.path)
	if err != nil {
		return 0 // it is not there yet
	}
	return info.Size()
}

// keep lets the next n bytes stay in the file, for somebody who will read them; 0 lets them go.
func (f *logFile) keep(n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.extra = 0; n > 0 {
		f.extra = max(f.length()+n-f.limit, 0)
	}
}

// section opens what the file holds from a spot on, as the program wrote it. It is nil when a part of that was dropped.
func (f *logFile) section(from spot) *section {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cuts != from.Cuts {
		return nil
	}
	return openSection(f.path, from.At)
}

// sectionAt is the same of a log that a former life followed.
func sectionAt(path string, from spot) *section {
	cuts := 0
	text, err := os.ReadFile(cutPath(path))
	if err == nil {
		cuts, err = strconv.Atoi(string(text))
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil || cuts != from.Cuts {
		return nil
	}
	return openSection(path, from.At)
}

// section is an open part of a log. A nil one has nothing to close.
type section struct {
	*io.SectionReader
	file *os.File
}

func openSection(path string, from int64) *section {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	info, err := file.Stat()
	if err != nil || info.Size() < from {
		_ = file.Close()
		return nil
	}
	return &section{SectionReader: io.NewSectionReader(file, from, info.Size()-from), file: file}
}

// reader is for those to whom nil means that there is no log.
func (s *section) reader() io.Reader {
	if s == nil {
		return nil
	}
	return s
}

// shorten ends it after n bytes.
func (s *section) shorten(n int64) {
	if s != nil {
		s.SectionReader = io.NewSectionReader(s.SectionReader, 0, min(n, s.Size()))
	}
}

func (s *section) close() {
	if s != nil {
		_ = s.file.Close()
	}
}

// readAt reads up to n bytes. ended says that there were no more. A file that is not there yet is empty.
func readAt(path string, offset int64, n int) (p []byte, ended bool, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, errors.New("the log cannot be opened")
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, false, errors.New("the log cannot be read")
	}
	p = make([]byte, min(max(info.Size()-offset, 0), int64(n)))
	got, err := file.ReadAt(p, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, errors.New("the log cannot be read")
	}
	return p[:got], offset+int64(got) >= info.Size(), nil
}
