package phonebooth_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/phonebooth-dev/phonebooth"
)

func TestLeaseIDHidesItself(t *testing.T) {
	t.Parallel()
	const secret = "lease_01k5verysecret"
	id := phonebooth.LeaseID(secret)
	a := phonebooth.Attempt{LeaseID: id}

	var text, structured bytes.Buffer
	slog.New(slog.NewTextHandler(&text, nil)).Info("claimed", "lease_id", id, "attempt", a, "ids", []phonebooth.LeaseID{id})
	slog.New(slog.NewJSONHandler(&structured, nil)).Info("claimed", "lease_id", id)
	said := []string{text.String(), structured.String()}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		said = append(said, fmt.Sprintf(format, id), fmt.Sprintf(format, a), fmt.Sprintf(format, []phonebooth.LeaseID{id}))
	}
	said = append(said, fmt.Sprint(id), fmt.Errorf("renewing %s: %w", id, fmt.Errorf("lost")).Error())
	for _, s := range said {
		if strings.Contains(s, "secret") {
			t.Errorf("the id shows in %q", s)
		}
	}
	if string(id) != secret {
		t.Errorf("got %q from the conversion, want the id", string(id))
	}
}

func TestC27_SameKeyOnTwoHostsIsTwoDevices(t *testing.T) {
	t.Parallel()
	a, b := phonebooth.DeviceIDOf("host_a", "emulator-5554"), phonebooth.DeviceIDOf("host_b", "emulator-5554")
	if a == b {
		t.Errorf("got %s for both hosts", a)
	}
	if again := phonebooth.DeviceIDOf("host_a", "emulator-5554"); again != a {
		t.Errorf("got %s and then %s for one device", a, again)
	}
	if x, y := phonebooth.DeviceIDOf("h", "ab"), phonebooth.DeviceIDOf("ha", "b"); x == y {
		t.Error("the border between host and key is lost")
	}
	if !regexp.MustCompile(`^device_[0-9a-z]{26}$`).MatchString(string(a)) || !phonebooth.ValidName(string(a)) {
		t.Errorf("got %s, want a safe name", a)
	}
}
