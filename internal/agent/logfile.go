package agent

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/phonebooth-dev/phonebooth/internal/agent/mask"
)

const (
	// maxLog is how large the file of a log may grow: a program that writes faster than the control plane takes must not fill
	// the host's disk.
	maxLog = 64 << 20
	// chunk is how much of a log is in memory at most.
	chunk = 256 << 10
)

// cutMark stands in a log where a part was dropped.
const cutMark = "\n[phonebooth: a part of the log was dropped here: it grew faster than its host could send it]\n"

// cutPath is the file that says that the one at path was emptied, so that its offsets are not those of the log.
func cutPath(path string) string { return path + ".cut" }

// logFile is the part of a log that is on the disk. It was emptied when it had grown too large, so it begins somewhere in the
// log. What is read of it holds no secret.
type logFile struct {
	path  string
	limit int64
	mask  *mask.Mask

	mu     sync.Mutex
	offset int64  // in the log, of the next byte to read
	at     int64  // of that byte in the file
	cuts   int    // how often the file was emptied
	lost   bool   // something of the log was dropped just before at
	torn   bool   // it is not known what was before the file's first byte
	before []byte // what that was, as far as a secret can reach
}

// next is what to send: the mark of a cut, or the file's next bytes. cuts tells which file that was. Before the last call it
// keeps back what may be the beginning of a secret.
func (f *logFile) next(last bool) (p []byte, offset int64, cuts int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if info, err := os.Stat(f.path); err == nil && info.Size() < f.at { // emptied in a former life, or by the program
		f.at, f.lost, f.torn, f.before = 0, true, true, nil
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
	if from == 0 {
		before = append(f.before[:len(f.before):len(f.before)], before...)
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
	if info, err := os.Stat(f.path); err == nil {
		size += max(info.Size()-f.at, 0)
	}
	return size
}

// cut empties a file that is too large. The program goes on writing at its beginning, because it appends.
func (f *logFile) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	if err != nil || info.Size() <= f.limit {
		return
	}
	before, _, err := readAt(f.path, max(f.at-int64(f.mask.Reach()), 0), int(min(f.at, int64(f.mask.Reach()))))
	if err != nil || os.WriteFile(cutPath(f.path), nil, 0o600) != nil || os.Truncate(f.path, 0) != nil {
		return // the next look will do
	}
	f.before, f.torn = before, false
	if f.lost || info.Size() > f.at {
		f.lost, f.torn, f.before = true, true, nil
	}
	f.at, f.cuts = 0, f.cuts+1
}

// section opens what the log holds from offset on, as the program wrote it. It is nil when a part of that is not in the file.
func (f *logFile) section(offset int64) *section {
	f.mu.Lock()
	defer f.mu.Unlock()
	begin := offset - (f.offset - f.at) // in the file
	if f.lost || begin < 0 {
		return nil
	}
	return openSection(f.path, begin)
}

// sectionAt is the same of a log that a former life followed.
func sectionAt(path string, offset int64) *section {
	if _, err := os.Stat(cutPath(path)); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return openSection(path, offset)
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
