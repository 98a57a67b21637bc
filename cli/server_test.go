package cli

import (
	"errors"
	"testing"
)

func TestTheAddressToLogInAtCanBeCalled(t *testing.T) {
	t.Parallel()
	named := func() (string, error) { return "rack", nil }
	for address, want := range map[string]string{
		"http://[::]:8420": "http://rack:8420", "https://0.0.0.0:8420": "https://rack:8420",
		"http://127.0.0.1:8420": "http://127.0.0.1:8420", "http://[fe80::1]:8420": "http://[fe80::1]:8420",
	} {
		if got := fromElsewhere(address, named); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
	nameless := func() (string, error) { return "", errors.New("no name") }
	if got := fromElsewhere("http://[::]:8420", nameless); got != "http://[::]:8420" {
		t.Errorf("without a name: %s", got)
	}
}
