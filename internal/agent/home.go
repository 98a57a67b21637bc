package agent

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/agent/diskmap"
	"github.com/phonebooth-dev/phonebooth/internal/config"
	"github.com/phonebooth-dev/phonebooth/internal/telemetry"
)

// Identity is which host this agent is.
type Identity struct {
	HostID phonebooth.HostID
	Name   string
	Secret telemetry.Secret // the agent's bearer token
}

// memory is what the identity file holds.
type memory struct {
	HostID      string `json:"host_id,omitempty"` // "" until the enrollment was answered
	Name        string `json:"name"`
	Secret      string `json:"secret"`
	Incarnation int64  `json:"incarnation,omitempty"`
	// StartID is of a start whose answer was not written down yet: the next life repeats that start, because the control
	// plane may have counted it already.
	StartID string `json:"start_id,omitempty"`
	// Place is where the home was when it last started: the same memory in another place is a copy.
	Place string `json:"place,omitempty"`
}

// Home is an agent's data directory, locked for this process. Its methods are called by one goroutine at a time.
type Home struct {
	dir    string
	lock   *config.Lock
	memory memory
}

// OpenHome takes dir, which it makes if it is not there. The error is a *config.InUseError when another process has it.
func OpenHome(dir string) (*Home, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find the data directory: %w", err)
	}
	lock, err := config.LockDir(dir)
	if err != nil {
		return nil, err
	}
	h := &Home{dir: dir, lock: lock}
	text, err := os.ReadFile(h.identityPath())
	if err == nil {
		err = json.Unmarshal(text, &h.memory)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(fmt.Errorf("read the agent's identity: %w", err), lock.Release())
	}
	return h, nil
}

// Close gives the directory back.
func (h *Home) Close() error { return h.lock.Release() }

// Identity is which host this agent is; ok is false before it was enrolled.
func (h *Home) Identity() (id Identity, ok bool) {
	return Identity{HostID: phonebooth.HostID(h.memory.HostID), Name: h.memory.Name, Secret: telemetry.NewSecret(h.memory.Secret)}, h.memory.HostID != ""
}

// Enroller turns a one-time token into a host.
type Enroller interface {
	Enroll(ctx context.Context, r v1.EnrollRequest) (v1.EnrollAnswer, error)
}

// Enroll makes this agent a host called name, with a secret that it draws itself. When it fails it may be called again with
// the same token, also after a restart: the secret is on the disk before it is sent. An agent that is a host stays it.
func (h *Home) Enroll(ctx context.Context, server Enroller, token, name string) (Identity, error) {
	if id, ok := h.Identity(); ok {
		return id, nil
	}
	if h.memory.Secret == "" {
		h.memory.Secret = rand.Text() + rand.Text()
	}
	h.memory.Name = name
	if err := h.save(); err != nil {
		return Identity{}, err
	}
	answer, err := server.Enroll(ctx, v1.EnrollRequest{Token: token, Secret: h.memory.Secret, Name: name})
	if err != nil {
		return Identity{}, fmt.Errorf("enroll: %w", err)
	}
	h.memory.HostID = answer.HostID
	if err := h.save(); err != nil {
		return Identity{}, err
	}
	id, _ := h.Identity()
	return id, nil
}

// Unenroll makes this machine no host: it may enroll again. For a host that was removed from the pool.
func (h *Home) Unenroll() error {
	h.memory = memory{}
	return h.save()
}

// Moved reports whether this home was copied or moved since its agent last started. Such an agent may have an original that
// runs, so it touches nothing unless it is told to take over (C10).
func (h *Home) Moved() bool { return h.memory.Place != "" && h.memory.Place != h.place() }

// forget leaves the lives of the original behind: an agent that takes over continues none of them, so that it is not told of
// leases, to give back, which the original may still be driving under.
func (h *Home) forget() { h.memory.Incarnation, h.memory.StartID = 0, "" }

// place is this machine and directory. The machine is told apart by the id that its system was given, or by its name.
func (h *Home) place() string {
	machine, err := os.ReadFile("/etc/machine-id")
	if err != nil {
		name, _ := os.Hostname() // "" is as good as any: the directory still tells
		machine = []byte(name)
	}
	return strings.TrimSpace(string(machine)) + ":" + h.dir
}

// startID is the id of the start that is to be made, on the disk before it is used.
func (h *Home) startID() (string, error) {
	if h.memory.StartID != "" {
		return h.memory.StartID, nil
	}
	h.memory.StartID = "start_" + rand.Text()
	return h.memory.StartID, h.save()
}

// started remembers the incarnation that a start was answered with.
func (h *Home) started(incarnation int64) error {
	h.memory.Incarnation, h.memory.StartID, h.memory.Place = incarnation, "", h.place()
	return h.save()
}

func (h *Home) save() error {
	text, err := json.Marshal(h.memory)
	if err == nil {
		err = diskmap.Replace(h.identityPath(), text)
	}
	if err != nil {
		return fmt.Errorf("save the agent's identity: %w", err)
	}
	return nil
}

const identityFile = "identity.json"

func (h *Home) identityPath() string { return filepath.Join(h.dir, identityFile) }
func (h *Home) journalDir() string   { return filepath.Join(h.dir, "journal") }
func (h *Home) spoolDir() string     { return filepath.Join(h.dir, "spool") }
func (h *Home) placeDir() string     { return filepath.Join(h.dir, "run") }
func (h *Home) lockDir() string      { return filepath.Join(h.dir, "device") }
