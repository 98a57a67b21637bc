package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"syscall"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/blob"
)

// askTimeout bounds the questions to the store of a call whose bytes may take their time.
const askTimeout = 15 * time.Second

// PutArtifact stores a file that an attempt left, instead of one that had the name before. What is there already is not
// read again.
func (c *Control) PutArtifact(ctx context.Context, host phonebooth.HostID, lease phonebooth.LeaseID, a blob.Artifact, body io.Reader) error {
	asking, stop := context.WithTimeout(ctx, askTimeout)
	defer stop()
	key, err := c.writable(asking, host, lease)
	if err != nil {
		return err
	}
	return answerBlob(c.blobs.PutArtifact(ctx, artifactsKey(key), a, body))
}

// Artifact is a file that an attempt left.
type Artifact struct {
	Attempt int
	blob.Artifact
}

// arrivingKey is where it is kept how many artifacts an attempt has announced: beside its logs, as it is open like one.
func arrivingKey(key phonebooth.AttemptKey) string {
	return fmt.Sprintf("%s/%d%s", key.TaskID, key.Number, blob.Arriving)
}

// ExpectArtifacts says that the attempt will have total artifacts, some of which come behind its report. The first word stands.
func (c *Control) ExpectArtifacts(ctx context.Context, host phonebooth.HostID, lease phonebooth.LeaseID, total int) error {
	key, err := c.writable(ctx, host, lease)
	if err != nil {
		return err
	}
	if _, err := c.blobs.Append(ctx, arrivingKey(key), 0, fmt.Appendf(nil, "%010d", total)); err != nil {
		return answerBlob(err)
	}
	return answerBlob(c.blobs.Announce(arrivingKey(key)))
}

// EndArtifacts says that no more artifacts of the attempt will come, however many were announced.
func (c *Control) EndArtifacts(ctx context.Context, host phonebooth.HostID, lease phonebooth.LeaseID) error {
	key, err := c.writable(ctx, host, lease)
	if err != nil {
		return err
	}
	return answerBlob(c.blobs.Finish(arrivingKey(key), 0))
}

// Coming is how many more artifacts of an attempt, or of every one if attempt is 0, are on their way beside those found by
// [Control.Artifacts] before. What can come no more, because its time is over, or its
// host is silent, is not.
func (c *Control) Coming(ctx context.Context, id phonebooth.TaskID, attempt int, found []Artifact) (int, error) {
	attempts, err := c.Attempts(ctx, id)
	if err != nil {
		return 0, err
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return 0, answer(err, nil)
	}
	there := map[int]int{}
	for _, f := range found {
		there[f.Attempt]++
	}
	coming := 0
	for _, a := range attempts {
		if attempt != 0 && a.Number != attempt || !a.Live() && now.After(a.EndedAt.Add(late)) {
			continue
		}
		text := make([]byte, 10)
		piece, err := c.blobs.Piece(arrivingKey(a.AttemptKey), 0, text)
		if err != nil {
			return 0, answerBlob(err)
		}
		total, err := strconv.Atoi(string(text[:piece.N]))
		if !piece.Open || err != nil || total <= there[a.Number] {
			continue
		}
		h, err := c.store.Host(ctx, a.HostID)
		if err != nil {
			return 0, answer(err, unknownHost())
		}
		if h.SilentSince.IsZero() && h.RemovedAt.IsZero() {
			coming += total - there[a.Number]
		}
	}
	return coming, nil
}

// Artifacts lists what an attempt left, or every attempt if attempt is 0; by attempt and name.
func (c *Control) Artifacts(ctx context.Context, id phonebooth.TaskID, attempt int) ([]Artifact, error) {
	t, err := c.Task(ctx, id)
	if err != nil {
		return nil, err
	}
	first, last := 1, t.Attempt
	if attempt != 0 {
		if err := hasAttempt(t, attempt); err != nil {
			return nil, err
		}
		first, last = attempt, attempt
	}
	var found []Artifact
	for number := first; number <= last; number++ {
		files, err := c.blobs.Artifacts(artifactsKey(phonebooth.AttemptKey{TaskID: id, Number: number}))
		if err != nil {
			return nil, answerBlob(err)
		}
		for _, f := range files {
			found = append(found, Artifact{Attempt: number, Artifact: f})
		}
	}
	if err := c.artifactsExpired(id); err != nil {
		return nil, err
	}
	return found, nil
}

// Artifact opens a file that the attempt left; the caller closes it.
func (c *Control) Artifact(ctx context.Context, id phonebooth.TaskID, attempt int, name string) (*blob.File, error) {
	t, err := c.Task(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := hasAttempt(t, attempt); err != nil {
		return nil, err
	}
	f, err := c.blobs.Artifact(artifactsKey(phonebooth.AttemptKey{TaskID: id, Number: attempt}), name)
	if errors.Is(err, blob.ErrNoArtifact) {
		err = cmp.Or(c.artifactsExpired(id), err)
	}
	return f, answerBlob(err)
}

func hasAttempt(t phonebooth.Task, number int) error {
	if number < 1 || number > t.Attempt {
		return phonebooth.Errorf(phonebooth.NotFound, "attempt_unknown", "the task has %d attempts", t.Attempt)
	}
	return nil
}

func artifactsKey(key phonebooth.AttemptKey) string {
	return fmt.Sprintf("%s/%d.artifacts", key.TaskID, key.Number)
}

// BadArtifactName refuses a name and says what is allowed.
func BadArtifactName() *phonebooth.Error {
	return phonebooth.Errorf(phonebooth.Invalid, "invalid", "the name of an artifact is 1 to %d bytes of UTF-8 without control characters: "+
		"parts of at most %d bytes joined by /, none of them empty, . or ..", blob.MaxNameBytes, blob.MaxPartBytes).With("pointer", "name")
}

func storeFull() *phonebooth.Error {
	return phonebooth.Errorf(phonebooth.Unavailable, "store_full", "the control plane's disk is nearly full; try again when there is room")
}

// answerBlob turns the error of the files into one for the caller.
func answerBlob(err error) error {
	if gap, ok := errors.AsType[*blob.GapError](err); ok {
		return phonebooth.Errorf(phonebooth.Conflict, "log_gap", "bytes before this offset are missing; go on at %d", gap.Next).
			With("next", strconv.FormatInt(gap.Next, 10))
	}
	if over, ok := errors.AsType[*blob.LimitError](err); ok {
		message := "an artifact has at most %d bytes"
		if over.What != "bytes" {
			message = "an attempt has at most %d artifacts"
		}
		return phonebooth.Errorf(phonebooth.TooLarge, "too_large", message, over.Limit).With("limit", strconv.FormatInt(over.Limit, 10))
	}
	switch {
	case errors.Is(err, blob.ErrBadName):
		return BadArtifactName()
	case errors.Is(err, blob.ErrMismatch):
		return phonebooth.Errorf(phonebooth.Invalid, "invalid", "the body does not have this SHA-256; send it again").With("pointer", "sha256")
	case errors.Is(err, blob.ErrShort), errors.Is(err, io.ErrUnexpectedEOF):
		return phonebooth.Errorf(phonebooth.Malformed, "malformed", "the body broke off").Because(err)
	case errors.Is(err, blob.ErrExpired):
		return phonebooth.Errorf(phonebooth.Conflict, "lease_lost", "the attempt ended too long ago; its log and its artifacts were removed").
			With("reason", "ended")
	case errors.Is(err, blob.ErrNoArtifact):
		return phonebooth.Errorf(phonebooth.NotFound, "artifact_unknown", "the attempt left no such artifact; list the task's artifacts to see what there is")
	case errors.Is(err, blob.ErrFull), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return storeFull().Because(err)
	}
	return answer(err, nil)
}
