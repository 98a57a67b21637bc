package minder

import (
	"hash/fnv"

	"golang.org/x/sys/unix"
)

// A mark is what a process of a runner cannot take off by accident, as it can its environment and its parents: a limit that
// every child inherits, also through exec. The kernel's default for message queues is 819200 bytes for a user, and hardly any
// program uses them; a runner has up to half of that, by a number of bytes that its cookie gives.
const (
	markFrom = 409_600
	marks    = 400_000
)

func markOf(cookie string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(cookie))
	return markFrom + h.Sum64()%marks
}

// putMark marks this process and all that it starts from now on. Where the limit is lower than any mark there is none.
func putMark(cookie string) {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_MSGQUEUE, &limit) != nil || limit.Max < markOf(cookie) {
		return
	}
	limit.Cur = markOf(cookie)
	_ = unix.Setrlimit(unix.RLIMIT_MSGQUEUE, &limit) // within the hard limit it is allowed
}

// hasMark reports whether a process has the mark of a cookie. Processes of another user never have.
func hasMark(pid int, cookie string) bool {
	var limit unix.Rlimit
	return unix.Prlimit(pid, unix.RLIMIT_MSGQUEUE, nil, &limit) == nil && limit.Cur == markOf(cookie)
}
