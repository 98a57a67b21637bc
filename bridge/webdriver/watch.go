package webdriver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/bridge"
)

// programs are what plays the phones.
type programs struct {
	driver, browser program
}

// program is one that was found and has said what it is.
type program struct {
	path    string
	name    string // as it calls itself: Chromium, ChromeDriver
	version string
}

func (p program) major() string {
	major, _, _ := strings.Cut(p.version, ".")
	return major
}

// health is what a look at the programs found.
type health struct {
	condition phonebooth.Condition
	reason    string
	programs  programs
}

// The names that the programs usually have.
var (
	driverNames  = []string{"chromedriver"}
	browserNames = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}
)

const howToInstall = "Debian has both programs: apt-get install chromium chromium-driver"

// versionTime bounds how long a program may think about its own version. It is long, because a lease on a machine that is
// merely busy must not lose its phone.
const versionTime = time.Minute

// Watch looks at the programs until ctx ends. First it removes what agents that died have left.
func (b *Bridge) Watch(ctx context.Context, changed func([]bridge.Device)) error {
	clearDead(ctx, b.options.Dir)
	var told []bridge.Device
	for {
		h := b.look(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		b.take(h)
		if list := b.list(h); !reflect.DeepEqual(list, told) {
			changed(list)
			told = list
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(b.options.LookAgain):
		}
	}
}

// take notes what was seen. Phones that are not ready in two looks, one after the other, are lost to whoever has them open: one
// look alone can fail for want of anything, while the browser that is open works on.
func (b *Bridge) take(h health) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.health = h
	for _, a := range b.opened {
		a.saw(h)
	}
}

func (b *Bridge) list(h health) []bridge.Device {
	tags := []string{DriverType, "mobile"}
	attributes := map[string]string{}
	if h.condition == phonebooth.Ready {
		browser := h.programs.browser
		short := "chromium"
		if strings.Contains(strings.ToLower(browser.name), "chrome") {
			short = "chrome"
		}
		tags = append(tags, "browser:"+short, short+":"+browser.major())
		attributes = b.options.Phone.whole(browser.major()).attributes()
		attributes["browser"] = browser.name + " " + browser.version
		attributes["chromedriver"] = h.programs.driver.version
	}
	tags = phonebooth.Constraints{Tags: tags}.Normalized().Tags
	var list []bridge.Device
	for n := range b.options.Devices {
		name := keyPrefix + strconv.Itoa(n+1)
		list = append(list, bridge.Device{
			Key: name, Name: name, DriverType: DriverType, Tags: tags, Attributes: maps.Clone(attributes),
			Condition: h.condition, Reason: h.reason,
		})
	}
	return list
}

// look finds the programs and asks them what they are.
func (b *Bridge) look(ctx context.Context) health {
	if !supported {
		return health{condition: phonebooth.Offline, reason: "the webdriver bridge works on Linux only"}
	}
	driver, err := ask(ctx, b.options.Chromedriver, driverNames)
	if err != nil {
		return unfit("chromedriver", err)
	}
	browser, err := ask(ctx, b.options.Chromium, browserNames)
	if err != nil {
		return unfit("chromium", err)
	}
	if driver.major() != browser.major() {
		return health{condition: phonebooth.Unhealthy, reason: fmt.Sprintf("%s %s cannot drive %s %s: both must have the same major version",
			driver.name, driver.version, browser.name, browser.version)}
	}
	return health{condition: phonebooth.Ready, programs: programs{driver, browser}}
}

// unfit is what is said of phones when one of the programs is missing or does not run.
func unfit(setting string, err error) health {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return health{condition: phonebooth.Offline, reason: fmt.Sprintf("%v. %s; or name another with the bridge's setting %s", err, howToInstall, setting)}
	}
	return health{condition: phonebooth.Unhealthy, reason: err.Error()}
}

// ask finds a program, by the name that was set or else by the usual ones, and asks for its version.
func ask(ctx context.Context, set string, usual []string) (program, error) {
	names := usual
	if set != "" {
		names = []string{set}
	}
	var path string
	var err error
	for _, name := range names {
		if path, err = exec.LookPath(name); err == nil {
			break
		}
	}
	if err != nil {
		return program{}, fmt.Errorf("%s was not found: %w", strings.Join(names, " or "), errors.Unwrap(err))
	}
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env, cmd.WaitDelay = environ(os.Environ(), os.TempDir(), nil), time.Second
	text, err := cmd.Output()
	if err != nil {
		return program{}, fmt.Errorf("%s --version does not work: %w", path, err)
	}
	p, ok := readVersion(string(text))
	if !ok {
		return program{}, fmt.Errorf("%s --version does not say what it is", path)
	}
	p.path = path
	return p, nil
}

// versionLine is a name and a version, "Chromium 156.0.8078.114 built on ..." say.
var versionLine = regexp.MustCompile(`(?m)^([A-Z][A-Za-z]*(?: [A-Z][A-Za-z ]*?)?) (\d{1,6}(?:\.\d{1,6}){0,4})\b`)

func readVersion(text string) (program, bool) {
	m := versionLine.FindStringSubmatch(text)
	if m == nil {
		return program{}, false
	}
	return program{name: m[1], version: m[2]}, true
}
