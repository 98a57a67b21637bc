package auth

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// AdminTokenFile is the name of the admin token's file in the data directory.
const AdminTokenFile = "admin.token"

// minAdminToken is the least that an operator's own admin token may have.
const minAdminToken = 32

// AdminToken is the admin token of a server with the data directory dir, which the caller has locked: the text of file when
// that is given, else the one kept in dir, which is made at the first start with mode 0600. Several replicas need the same
// file.
func AdminToken(dir, file string) (string, error) {
	if file != "" {
		return readToken(file)
	}
	path := filepath.Join(dir, AdminTokenFile)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeAdminToken(dir, path)
	}
	if err != nil {
		return "", fmt.Errorf("look for the admin token: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s can be read by others; make it yours alone with chmod 600, or remove it to get a new token", path)
	}
	return readToken(path)
}

// makeAdminToken writes a new token so that a crash leaves a whole one or none.
func makeAdminToken(dir, path string) (token string, err error) {
	f, err := os.CreateTemp(dir, AdminTokenFile+".*") // with mode 0600
	if err != nil {
		return "", fmt.Errorf("make the admin token: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	token = NewToken(PrefixAdmin)
	_, err = f.WriteString(token + "\n")
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return "", fmt.Errorf("make the admin token: %w", err)
	}
	return token, nil
}

func readToken(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the admin token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if len(token) < minAdminToken || len(token) > maxTokenBytes || strings.ContainsFunc(token, unprintable) {
		return "", fmt.Errorf("%s holds no usable admin token: it must be one line of %d to %d printable characters without spaces",
			path, minAdminToken, maxTokenBytes)
	}
	return token, nil
}

func unprintable(r rune) bool { return r < 0x21 || r > 0x7e }
