package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/phonebooth-dev/phonebooth/internal/config"
)

func TestAccountsAreKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "config.yaml")
	want := accounts{Current: "https://b.example:8420", Servers: map[string]account{
		"http://127.0.0.1:8420": {Token: "a: #'\"token"}, "https://b.example:8420": {Token: "two"}, "http://[::1]:8420": {Token: "three"},
	}}
	if err := changeAccounts(path, func(a *accounts) { *a = want }); err != nil {
		t.Fatal(err)
	}
	got, err := readAccounts(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("the file's mode is %v, %v, want 0600", info.Mode(), err)
	}
}

func TestAccountsOfManyAtOnceAreAllKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.yaml")
	var writers sync.WaitGroup
	for i := range 16 {
		writers.Go(func() {
			err := changeAccounts(path, func(a *accounts) {
				if a.Servers == nil {
					a.Servers = map[string]account{}
				}
				a.Servers[fmt.Sprintf("http://127.0.0.1:%d", 9000+i)] = account{Token: "t"}
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	got, err := readAccounts(path)
	if err != nil || len(got.Servers) != 16 {
		t.Errorf("%d accounts are left, %v, want 16", len(got.Servers), err)
	}
	left, err := filepath.Glob(path + ".*")
	if err != nil || len(left) != 1 || !strings.HasSuffix(left[0], ".lock") {
		t.Errorf("%v, %v lie beside the file, want the lock alone", left, err)
	}
}

func TestAnAccountsFileMayBeALink(t *testing.T) {
	t.Parallel()
	real := filepath.Join(t.TempDir(), "real.yaml")
	link := filepath.Join(t.TempDir(), "config.yaml")
	if err := errors.Join(os.WriteFile(real, nil, 0o600), os.Symlink(real, link)); err != nil {
		t.Fatal(err)
	}
	if err := changeAccounts(link, func(a *accounts) { a.Current = "http://x" }); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(link)
	got, readErr := readAccounts(real)
	if err != nil || readErr != nil || info.Mode()&os.ModeSymlink == 0 || got.Current != "http://x" {
		t.Errorf("the link is %v, and its file holds %+v; %v, %v", info.Mode(), got, err, readErr)
	}
}

func TestABrokenAccountsFileIsLeftAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.yaml")
	const text = "servers:\n  http://127.0.0.1:8420: {tokn: secret}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	err := changeAccounts(path, func(*accounts) {})
	var mistake *config.Error
	if !errors.As(err, &mistake) || mistake.Line != 2 || strings.Contains(err.Error(), "secret") || exitCode(err) != exitUsage {
		t.Errorf("got %v, exit code %d, want a mistake in line 2 that shows no secret, and %d", err, exitCode(err), exitUsage)
	}
	if got, _ := os.ReadFile(path); string(got) != text {
		t.Errorf("the file was changed to %q", got)
	}
}

func TestServerURL(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"http://127.0.0.1:8420", "http://127.0.0.1:8420"},
		{" HTTPS://Phones.Example.ORG:8420/ ", "https://phones.example.org:8420"},
		{"https://example.org/booth/", "https://example.org/booth"},
		{"http://[::1]:8420", "http://[::1]:8420"},
		{"127.0.0.1:8420", ""},
		{"phones.example.org", ""},
		{"ftp://example.org", ""},
		{"http://user:secret@example.org", ""},
		{"http://example.org?x=1", ""},
		{"http://", ""},
		{"", ""},
	}
	for _, test := range tests {
		got, err := serverURL(test.text)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("serverURL(%q) = %q, %v, want %q", test.text, got, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the refusal of %q shows what it refuses: %v", test.text, err)
		}
	}
}
