package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
	"golang.org/x/sys/unix"

	"github.com/phonebooth-dev/phonebooth/internal/config"
)

// accounts is the user's configuration file: a token for each server, and which server is current.
type accounts struct {
	Current string             `yaml:"current,omitempty"`
	Servers map[string]account `yaml:"servers,omitempty"`
}

type account struct {
	Token string `yaml:"token"`
}

// accountsPath is where the file is: phonebooth/config.yaml in the user's configuration directory.
func accountsPath() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find your configuration directory: %w", err)
	}
	return filepath.Join(dir, "phonebooth", "config.yaml"), nil
}

// readAccounts reads the file; none is an empty one. One that others can read is refused: it holds tokens.
func readAccounts(path string) (accounts, error) {
	var a accounts
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err != nil {
		return a, fmt.Errorf("read your configuration: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return a, &failure{
			status: exitUsage, err: fmt.Errorf("%s holds tokens, and others can read it", path),
			next: []string{"make it yours alone: chmod 600 " + path},
		}
	}
	return a, config.Load(path, &a)
}

// remember keeps token for the server at address and makes it the current one. Dev and login call it; everything that asks
// a server finds it there afterwards.
func remember(address, token string) error {
	path, err := accountsPath()
	if err != nil {
		return err
	}
	return changeAccounts(path, func(a *accounts) {
		if a.Servers == nil {
			a.Servers = map[string]account{}
		}
		a.Servers[address] = account{Token: token}
		a.Current = address
	})
}

// forget removes the tokens of servers.
func forget(addresses []string) error {
	path, err := accountsPath()
	if err != nil {
		return err
	}
	return changeAccounts(path, func(a *accounts) {
		for _, address := range addresses {
			delete(a.Servers, address)
			if a.Current == address {
				a.Current = ""
			}
		}
	})
}

// changeAccounts rewrites the file whole or not at all, one process after the other.
func changeAccounts(path string, change func(*accounts)) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make your configuration directory: %w", err)
	}
	unlock, err := lockFile(path + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	a, err := readAccounts(path)
	if err != nil {
		return err
	}
	change(&a)
	text, err := yaml.Marshal(a)
	if err != nil {
		return fmt.Errorf("write your configuration: %w", err)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link stays one
	}
	return replaceFile(path, text)
}

// lockFile waits until no other process holds path.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock your configuration: %w", err)
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock your configuration: %w", err), f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// replaceFile puts text at path so that a crash leaves the old file or the new one.
func replaceFile(path string, text []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // with mode 0600
	if err != nil {
		return fmt.Errorf("write your configuration: %w", err)
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write your configuration: %w", err), os.Remove(f.Name()))
	}
	return nil
}

// serverURL is text as the address of a server: one server has one spelling.
func serverURL(text string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return "", errors.New("a server is given as a URL such as http://127.0.0.1:8420")
	}
	u.Host = strings.ToLower(u.Host)
	u.Path = strings.TrimRight(u.Path, "/")
	return u.String(), nil
}
