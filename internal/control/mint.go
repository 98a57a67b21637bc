package control

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"go.jetify.com/typeid"

	"github.com/phonebooth-dev/phonebooth"
)

// mintTaskID draws a new task id: sortable by time, unique for ever.
func mintTaskID() (phonebooth.TaskID, error) {
	id, err := typeid.WithPrefix("task")
	if err != nil {
		return "", fmt.Errorf("draw a task id: %w", err)
	}
	return phonebooth.TaskID(id.String()), nil
}

// enrolledID is the id of the host that a token and a secret make together: the same pair again is the same host. Both are
// hashes of secrets, so it cannot be foreseen.
func enrolledID(tokenHash, secretHash string) phonebooth.HostID {
	sum := sha256.Sum256([]byte(tokenHash + "\x00" + secretHash))
	return phonebooth.HostID("host_" + hex.EncodeToString(sum[:13]))
}
