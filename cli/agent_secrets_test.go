package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestC41_SecretsAreReadFromFilesAndVariables(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("FROM_HERE", "by variable")
	secrets, err := secretSettings{
		"API_KEY": {File: put("key", "hunter2\n")}, "PEM": {File: put("pem", "one\ntwo\n\n")}, "TOKEN": {Env: "FROM_HERE"},
	}.read()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"API_KEY": "hunter2", "PEM": "one\ntwo\n", "TOKEN": "by variable"} {
		if got := secrets[name].Reveal(); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
}

func TestASecretThatCannotBeReadIsNamedWithTheReason(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "hunter2.nul")
	if err := os.WriteFile(path, []byte("hun\x00ter"), 0o600); err != nil {
		t.Fatal(err)
	}
	long := filepath.Join(dir, "long")
	if err := os.WriteFile(long, make([]byte, maxSecret+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		source secretSource
		want   string
	}{
		"A":            {secretSource{File: filepath.Join(dir, "none")}, "no such file"},
		"B":            {secretSource{File: dir}, "is a directory"},
		"C":            {secretSource{}, "either file: PATH or env: VARIABLE"},
		"D":            {secretSource{File: path, Env: "HOME"}, "either file: PATH or env: VARIABLE"},
		"E":            {secretSource{Env: "PHONEBOOTH_TEST_NOT_SET"}, "is empty"},
		"F":            {secretSource{File: path}, "NUL"},
		"G":            {secretSource{File: long}, "more than 65536 bytes"},
		"PHONEBOOTH_X": {secretSource{Env: "PATH"}, "a name is"},
		"1X":           {secretSource{Env: "PATH"}, "a name is"},
	} {
		_, err := secretSettings{name: c.source}.read()
		if err == nil || !strings.Contains(err.Error(), "secrets."+name+": ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want it to say %q", name, err, c.want)
		}
	}
}
