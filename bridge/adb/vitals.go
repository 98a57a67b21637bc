package adb

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// askVitals asks how a device is.
const askVitals = "echo [battery]; dumpsys battery; echo [data]; df -k /data; echo [power]; dumpsys power; echo [window]; dumpsys window policy"

// readVitals asks a device how it is, in attributes. They are coarse, so that one that nobody touches does not change all the
// time. What it does not tell is left out.
func (b bedside) readVitals(ctx context.Context) (map[string]string, error) {
	out, err := b.ask(ctx, askVitals)
	if err != nil {
		return nil, err
	}
	return parseVitals(out.Stdout), nil
}

// The names of the attributes that change by themselves.
const (
	attrBattery  = "battery"  // percent, in steps of 5
	attrCharging = "charging" // yes or no
	attrFree     = "free"     // room on /data, in GB
	attrScreen   = "screen"   // on or off
	attrLocked   = "locked"   // yes or no
)

var (
	batteryLevel = regexp.MustCompile(`(?m)^\s*level: (\d{1,3})\s*$`)
	batteryScale = regexp.MustCompile(`(?m)^\s*scale: (\d{1,6})\s*$`)
	powered      = regexp.MustCompile(`(?m)^\s*\w+ powered: (true|false)\s*$`)
	wakefulness  = regexp.MustCompile(`(?m)^\s*mWakefulness=(\w+)`)
	keyguard     = regexp.MustCompile(`(?m)\b(?:showing|mShowingLockscreen|isStatusBarKeyguard)=(true|false)\b`)
)

func parseVitals(text string) map[string]string {
	said := parseSections(text)
	vitals := map[string]string{}
	if level := number(batteryLevel, said["battery"]); level >= 0 {
		if scale := number(batteryScale, said["battery"]); scale > 0 {
			level = level * 100 / scale
		}
		vitals[attrBattery] = strconv.Itoa(min(level, 100)/5*5) + "%"
	}
	said.yesNo(vitals, attrCharging, powered, "battery")
	said.yesNo(vitals, attrLocked, keyguard, "window")
	if free, ok := parseFree(said["data"]); ok {
		vitals[attrFree] = fmt.Sprintf("%d GB", free>>30)
	}
	if state := wakefulness.FindStringSubmatch(said["power"]); state != nil {
		vitals[attrScreen] = "off"
		if state[1] == "Awake" || state[1] == "Dreaming" {
			vitals[attrScreen] = "on"
		}
	}
	return vitals
}

// yesNo sets an attribute to whether any of what is found says true; nothing found, nothing set.
func (s sections) yesNo(vitals map[string]string, name string, what *regexp.Regexp, section string) {
	found := what.FindAllStringSubmatch(s[section], -1)
	if found == nil {
		return
	}
	vitals[name] = "no"
	for _, match := range found {
		if match[1] == "true" {
			vitals[name] = "yes"
		}
	}
}

// number is the first group of what is found, or -1.
func number(what *regexp.Regexp, text string) int {
	match := what.FindStringSubmatch(text)
	if match == nil {
		return -1
	}
	n, err := strconv.Atoi(match[1])
	if err != nil {
		return -1
	}
	return n
}

// parseFree reads how many bytes are free from what df prints: in the column Available, of 1024 bytes each.
func parseFree(text string) (bytes int64, ok bool) {
	column := -1
	for line := range strings.Lines(text) {
		cells := strings.Fields(line)
		for i, cell := range cells {
			if cell == "Available" || cell == "Avail" {
				column = i
			}
		}
		if column < 0 || column >= len(cells) || !strings.Contains(line, "/data") {
			continue
		}
		if blocks, err := strconv.ParseInt(cells[column], 10, 53); err == nil && blocks >= 0 {
			return blocks << 10, true
		}
	}
	return 0, false
}
