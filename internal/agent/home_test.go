package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/agent"
	"github.com/phonebooth-dev/phonebooth/internal/config"
	"github.com/phonebooth-dev/phonebooth/internal/telemetry"
)

// flaky loses the first answer.
type flaky struct{ seen []v1.EnrollRequest }

func (f *flaky) Enroll(_ context.Context, r v1.EnrollRequest) (v1.EnrollAnswer, error) {
	f.seen = append(f.seen, r)
	if len(f.seen) == 1 {
		return v1.EnrollAnswer{}, errors.New("connection reset")
	}
	return v1.EnrollAnswer{HostID: "host_1"}, nil
}

func TestAnEnrollmentIsRepeatedWithTheSameSecret(t *testing.T) {
	t.Parallel()
	dir, server := t.TempDir(), &flaky{}
	for i := range 3 {
		home := openHome(t, dir)
		id, err := home.Enroll(t.Context(), server, "token", "rack-1")
		if (err != nil) != (i == 0) || i > 0 && id.HostID != "host_1" {
			t.Errorf("enrollment %d: %+v, %v", i+1, id, err)
		}
		if err := home.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(server.seen) != 2 || server.seen[0] != server.seen[1] || len(server.seen[0].Secret) < 32 {
		t.Errorf("requests = %d, want two equal ones: the third start is enrolled already", len(server.seen))
	}
	if info, err := os.Stat(filepath.Join(dir, "identity.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("identity file: %v (%v), want mode 0600", info.Mode(), err)
	}
}

func TestAHomeHasOneAgent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	home, err := agent.OpenHome(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agent.OpenHome(dir); !errors.As(err, new(*config.InUseError)) {
		t.Errorf("opening it twice: %v, want an InUseError", err)
	}
	if err := home.Close(); err != nil {
		t.Fatal(err)
	}
	if err := openHome(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
}

func TestC41_ASecretHidesItself(t *testing.T) {
	t.Parallel()
	id := agent.Identity{HostID: "host_1", Secret: telemetry.NewSecret("hunter2")}
	for _, text := range []string{fmt.Sprint(id), fmt.Sprintf("%+v", id), fmt.Sprintf("%#v", id), id.Secret.LogValue().String()} {
		if want := "hunter2"; len(text) == 0 || contains([]byte(text), want) {
			t.Errorf("%q shows the secret", text)
		}
	}
}

func TestC10_ACopiedHomeDoesNothingUnlessItTakesOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := `{"host_id":"host_1","name":"rack","secret":"s","incarnation":7,"place":"another machine:/var/lib/agent"}`
	if err := os.WriteFile(filepath.Join(dir, "identity.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(openHome(t, dir), nil, nil, nil, agent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Run(t.Context()); phonebooth.CodeOf(err) != "host_identity_conflict" {
		t.Errorf("the copy's agent: %v, want host_identity_conflict", err)
	}
}
