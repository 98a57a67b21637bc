package cli

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestATypedTokenIsReadKeyByKey(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"token\rmore": "token", "tokem\x7fn\n": "token", "\x7f\x08token\x04": "token", "wrong\x15token\r": "token", "\r": "",
	} {
		if got, err := readTyped(strings.NewReader(typed)); got != want || err != nil {
			t.Errorf("typed %q: %q, %v; want %q", typed, got, err, want)
		}
	}
	if got, err := readTyped(strings.NewReader("tok\x03en\r")); got != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("Ctrl-C: %q, %v", got, err)
	}
}
