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
	secrets, without := secretSettings{
		"API_KEY": {File: put("key", "hunter2\n")}, "PEM": {File: put("pem", "one\ntwo\n\n")}, "TOKEN": {Env: "FROM_HERE"},
	}.read()
	if len(without) > 0 {
		t.Fatal(without)
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
	short := filepath.Join(dir, "short")
	if err := os.WriteFile(short, []byte("abc\n"), 0o600); err != nil {
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
		"H":            {secretSource{File: short}, "less than 4 bytes"},
		"PHONEBOOTH_X": {secretSource{Env: "PATH"}, "a name is"},
		"1X":           {secretSource{Env: "PATH"}, "a name is"},
	} {
		all := secretSettings{name: c.source, "GOOD": {Env: "PATH"}}
		secrets, without := all.read()
		if got := all.lacks([]string{"GOOD", name}, without); !strings.HasPrefix(got, "secrets."+name+": ") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want it to say %q", name, got, c.want)
		}
		if len(secrets) != 1 || all.lacks([]string{"GOOD"}, without) != "" {
			t.Errorf("%s: it costs another secret too: %v", name, without)
		}
	}
}
