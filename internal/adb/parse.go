package adb

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// serialColumn is the width to which a server pads the serial, in bytes.
const serialColumn = 22

const transportField = " transport_id:"

var fieldPattern = regexp.MustCompile(`^[a-z][a-z0-9_]*:`)

// ParseDevices reads the long list of devices, as host:devices-l answers it and `adb devices -l` prints it.
//
// A line is a device if and only if it carries a transport id: banners, warnings and half a line are
// not. The line does not say where a serial with spaces ends, so the parts are taken from where they
// are certain: the fields from the right, the state by the column or as the last known word.
// Servers before 2018 give no transport id; their devices could not be told apart and are not shown.
func ParseDevices(list string) []Device {
	var devices []Device
	for line := range strings.Lines(list) {
		if d, ok := parseDevice(strings.TrimRight(line, "\r\n")); ok {
			devices = append(devices, d)
		}
	}
	return devices
}

func parseDevice(line string) (Device, bool) {
	head, id, late, ok := cutTransportID(line)
	if !ok {
		return Device{}, false
	}
	serial, state, fields := splitHead(head)
	if serial == "" || state == "" {
		return Device{}, false
	}
	d := Device{TransportID: id, Serial: printable(serial), State: State(printable(state))}
	d.read(fields)
	d.read(late)
	return d, true
}

// cutTransportID splits line at its last transport id. What follows it must be fields: text there means
// that the id is a part of some sentence.
func cutTransportID(line string) (head string, id uint64, late []string, ok bool) {
	at := strings.LastIndex(line, transportField)
	if at < 0 {
		return "", 0, nil, false
	}
	tail := strings.Fields(line[at+len(transportField):])
	if len(tail) == 0 || line[at+len(transportField)] == ' ' {
		return "", 0, nil, false
	}
	id, err := strconv.ParseUint(tail[0], 10, 64)
	if err != nil || id == 0 {
		return "", 0, nil, false
	}
	for _, f := range tail[1:] {
		if !fieldPattern.MatchString(f) {
			return "", 0, nil, false
		}
	}
	return line[:at], id, tail[1:], true
}

// splitHead takes "SERIAL STATE FIELD..." apart.
func splitHead(head string) (serial, state string, fields []string) {
	short := len(head) > serialColumn+1 && head[serialColumn] == ' '
	if short {
		word, rest, more := strings.Cut(head[serialColumn+1:], " ")
		if State(word).known() && (!more || fieldPattern.MatchString(rest)) {
			return strings.TrimRight(head[:serialColumn], " "), word, splitFields(rest)
		}
	}
	front, fields := peelFields(head)
	if at := strings.LastIndex(front, " "+string(StateNoPermissions)); at > 0 {
		return strings.TrimRight(front[:at], " "), front[at+1:], fields
	}
	at := strings.LastIndexByte(front, ' ')
	if at < 0 {
		return "", "", nil
	}
	if !State(front[at+1:]).known() && short && len(front) > serialColumn+1 {
		// A state that nobody knows yet, perhaps of several words: trust the column.
		return strings.TrimRight(head[:serialColumn], " "), strings.TrimSpace(front[serialColumn+1:]), fields
	}
	return strings.TrimRight(front[:at], " "), front[at+1:], fields
}

// peelFields takes the key:value words off the end of head, as long as something is left for serial and state.
func peelFields(head string) (front string, fields []string) {
	front = strings.TrimRight(head, " ")
	for {
		at := strings.LastIndexByte(front, ' ')
		if at < 0 || !fieldPattern.MatchString(front[at+1:]) {
			return front, fields
		}
		rest := strings.TrimRight(front[:at], " ")
		if !strings.Contains(rest, " ") {
			return front, fields
		}
		fields = append([]string{front[at+1:]}, fields...)
		front = rest
	}
}

// splitFields splits "k:v k:v" where a value may hold spaces.
func splitFields(s string) (fields []string) {
	for word := range strings.SplitSeq(s, " ") {
		if len(fields) == 0 || fieldPattern.MatchString(word) {
			fields = append(fields, word)
		} else {
			fields[len(fields)-1] += " " + word
		}
	}
	return fields
}

// read takes what it knows from fields and passes over the rest.
func (d *Device) read(fields []string) {
	for _, f := range fields {
		key, value, _ := strings.Cut(f, ":")
		value = printable(strings.TrimSpace(value))
		switch key {
		case "usb":
			d.USBPath = "usb:" + value
		case "product":
			d.Product = value
		case "model":
			d.Model = value
		case "device":
			d.Name = value
		}
	}
}

// printable replaces what no database, terminal or JSON text can carry.
func printable(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, unicode.IsControl) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
}
