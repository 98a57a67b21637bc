package simdevice

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Vitals is how a phone is. A new one has a battery that charges, plenty of room, and a screen that is on and not locked.
type Vitals struct {
	Battery  int // percent
	Charging bool
	Free     int64 // bytes on /data; with 0 nothing can be written
	ScreenOn bool
	Locked   bool
}

// Vitals is how the phone is.
func (p *Phone) Vitals() Vitals {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.vitals
}

// SetVitals changes how the phone is.
func (p *Phone) SetVitals(v Vitals) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.vitals = v
}

// write replaces a file as long as there is room.
func (p *Phone) write(name string, content []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.vitals.Free < int64(len(content)) || p.vitals.Free == 0 {
		return false
	}
	p.files[path.Clean(name)] = file{content: content, mode: modeFile | 0o644}
	return true
}

// The keyboards of the phone.
const (
	imeSetting = "secure/default_input_method"
	firstIME   = "com.android.inputmethod.latin/.LatinIME"
)

// Keyboard is the input method that is chosen.
func (p *Phone) Keyboard() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.settings[imeSetting]
}

// ime chooses a keyboard, any that is named.
func ime(_ context.Context, sh *shell, args []string) int {
	switch {
	case len(args) == 2 && args[0] == "enable":
		sh.print("Input method %s: now enabled for user #0\n", args[1])
	case len(args) == 2 && args[0] == "set" && strings.Contains(args[1], "/"):
		sh.setIME(args[1])
		sh.print("Input method %s selected for user #0\n", args[1])
	case len(args) == 1 && args[0] == "reset":
		sh.setIME(firstIME)
		sh.print("Reset current and enabled IMEs for user #0\n")
	default:
		sh.complain("ime: wants enable or set and a keyboard, or reset")
		return codeUsage
	}
	return 0
}

func (sh *shell) setIME(name string) {
	sh.phone.mu.Lock()
	defer sh.phone.mu.Unlock()
	sh.phone.settings[imeSetting] = name
}

// screenrecord records until it is stopped, or for --time-limit seconds.
func screenrecord(ctx context.Context, sh *shell, args []string) int {
	limit := 3 * time.Minute
	if at := slices.Index(args, "--time-limit"); at >= 0 && at+1 < len(args) {
		seconds, err := strconv.Atoi(args[at+1])
		if err != nil || seconds <= 0 {
			sh.complain("screenrecord: %q is no time", args[at+1])
			return codeUsage
		}
		limit = time.Duration(seconds) * time.Second
	}
	if len(args) == 0 || strings.HasPrefix(args[len(args)-1], "-") {
		sh.complain("screenrecord: wants a file")
		return codeUsage
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	if !sh.phone.write(args[len(args)-1], []byte("a recording\n")) {
		return 1
	}
	return 0
}

// df knows /data alone.
func df(_ context.Context, sh *shell, args []string) int {
	if !slices.Contains(args, "/data") {
		sh.complain("df: this phone shows /data only")
		return codeUsage
	}
	const total = int64(64 << 30)
	free := sh.phone.Vitals().Free
	sh.print("Filesystem     1K-blocks     Used Available Use%% Mounted on\n/dev/block/dm-5 %d %d %d %d%% /data\n",
		total>>10, (total-free)>>10, free>>10, 100*(total-free)/total)
	return 0
}

func dumpsys(_ context.Context, sh *shell, args []string) int {
	v := sh.phone.Vitals()
	service := ""
	if len(args) > 0 {
		service = args[0]
	}
	switch service {
	case "battery":
		status := 3
		if v.Charging {
			status = 2
		}
		sh.print("Current Battery Service state:\n  AC powered: false\n  USB powered: %t\n  Wireless powered: false\n  status: %d\n  health: 2\n"+
			"  present: true\n  level: %d\n  scale: 100\n  temperature: 295\n", v.Charging, status, v.Battery)
	case "power":
		wakefulness := "Asleep"
		if v.ScreenOn {
			wakefulness = "Awake"
		}
		sh.print("POWER MANAGER (dumpsys power)\n\nPower Manager State:\n  mWakefulness=%s\n  mWakefulnessChanging=false\n", wakefulness)
	case "window":
		sh.print("WINDOW MANAGER POLICY STATE (dumpsys window policy)\n  KeyguardServiceDelegate\n    showing=%t\n    showingAndNotOccluded=%t\n",
			v.Locked, v.Locked)
	default:
		sh.complain("dumpsys: this phone has the services battery, power and window only")
		return codeUsage
	}
	return 0
}
