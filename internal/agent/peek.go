package agent

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/config"
	"github.com/phonebooth-dev/phonebooth/internal/telemetry"
)

// Peeked is what can be seen of an agent's data directory without taking it.
type Peeked struct {
	Identity    Identity // its HostID is "" when the agent is not enrolled
	Incarnation int64    // of its last start
	Holder      int      // the process that has the directory; 0: none
}

// Peek looks at the data directory of an agent that may be running. It changes nothing; a directory that does not exist is
// fs.ErrNotExist.
func Peek(dir string) (Peeked, error) {
	if _, err := os.Stat(dir); err != nil {
		return Peeked{}, err
	}
	var m memory
	text, err := os.ReadFile(filepath.Join(dir, identityFile))
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Peeked{}, err
	}
	return Peeked{
		Identity:    Identity{HostID: phonebooth.HostID(m.HostID), Name: m.Name, Secret: telemetry.NewSecret(m.Secret)},
		Incarnation: m.Incarnation, Holder: config.Holder(dir),
	}, nil
}

// Room says why an agent could not keep its work in dir, if it could not.
func Room(dir string) error { return roomIn(dir, true) }
