package webdriver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// place is the directory of one lease: whatever its browsers write is in it. Its name is nobody else's, so it also tells
// which processes are the lease's.
type place struct {
	dir  string
	lock *os.File // held as long as the agent lives that made it
}

// placePrefix begins the name of each place. It is short, because a browser has sockets in there whose paths are bounded.
const placePrefix = "phonebooth-web-"

// newPlace makes a place in dir.
func newPlace(dir string) (*place, error) {
	made, err := os.MkdirTemp(dir, placePrefix)
	if err != nil {
		return nil, fmt.Errorf("making a directory for the lease: %w", err)
	}
	p := &place{dir: made}
	if err := p.fill(); err != nil {
		_ = p.remove() // what is left is removed by a later life
		return nil, fmt.Errorf("making a directory for the lease: %w", err)
	}
	return p, nil
}

func (p *place) fill() (err error) {
	if p.lock, err = lockFile(filepath.Join(p.dir, "lock")); err != nil {
		return err
	}
	for _, name := range []string{"home", "tmp"} {
		if err := os.Mkdir(filepath.Join(p.dir, name), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// profile makes a fresh directory for one browser.
func (p *place) profile() (string, error) { return os.MkdirTemp(p.dir, "profile-") }

// remove removes the directory and all that is in it.
func (p *place) remove() error {
	if err := os.RemoveAll(p.dir); err != nil {
		return fmt.Errorf("removing the lease's directory: %w", err)
	}
	if p.lock != nil {
		_ = p.lock.Close() // it may be closed already
	}
	return nil
}

// clearDead ends and removes what agents left in dir that are dead: theirs are the places that nobody has locked. What does
// not go now is left to the next life.
func clearDead(ctx context.Context, dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !strings.HasPrefix(e.Name(), placePrefix) || !e.IsDir() || !abandoned(path) {
			continue
		}
		if endAll(ctx, path) == nil {
			_ = os.RemoveAll(path)
		}
	}
}

// passed names the variables of the host that its browsers get. Nothing else of the agent's environment reaches them.
var passed = []string{
	"PATH", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "FONTCONFIG_PATH", "FONTCONFIG_FILE",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
}

// environ is the whole environment of a lease's processes, whose files are all below dir: of host, what is on the list, and
// what the lease says.
func environ(host []string, dir string, lease []string) []string {
	home := filepath.Join(dir, "home")
	env := []string{
		"HOME=" + home, "TMPDIR=" + filepath.Join(dir, "tmp"), "XDG_CONFIG_HOME=" + filepath.Join(home, ".config"),
		"XDG_CACHE_HOME=" + filepath.Join(home, ".cache"), "XDG_DATA_HOME=" + filepath.Join(home, ".local", "share"),
	}
	for _, entry := range host {
		name, _, _ := strings.Cut(entry, "=")
		if slices.Contains(passed, name) || strings.HasPrefix(name, "LC_") {
			env = append(env, entry)
		}
	}
	return append(env, lease...)
}
