package adb

import (
	"strconv"
	"strings"
)

// request is what a client asks of an adb server, taken apart.
type request struct {
	target wanted
	verb   string // "version", "transport", "forward", ...; of a service of the device, "service"
	rest   string // what follows the verb, or the service
}

// wanted is which device a client means. The zero value is any that there is, also any over USB and any emulator.
type wanted struct {
	serial string
	id     uint64 // of a transport, not 0
}

// verbs are those that have something behind a colon.
var verbs = []string{
	"forward", "killforward", "connect", "disconnect", "pair", "emulator", "mdns",
}

// parse takes a request apart. names are what the one device of the server is called: a serial may hold colons, so
// where it ends is told by a name that is known, and only then guessed.
func parse(text string, names []string) request {
	head, rest, ok := strings.Cut(text, ":")
	if !ok {
		return request{verb: "service", rest: text}
	}
	switch head {
	case "host", "host-usb", "host-local":
		return parseHost(rest, wanted{})
	case "host-serial":
		serial, rest := cutSerial(rest, names)
		return parseHost(rest, wanted{serial: serial})
	case "host-transport-id":
		digits, rest, _ := strings.Cut(rest, ":")
		return parseHost(rest, targetID(digits))
	}
	return request{verb: "service", rest: text}
}

// parseHost takes apart what is behind the prefix that names a device.
func parseHost(text string, to wanted) request {
	switch text {
	case "transport-any", "transport-usb", "transport-local", "transport":
		return request{target: to, verb: "transport"}
	case "tport:any", "tport:usb", "tport:local":
		return request{target: to, verb: "tport"}
	}
	for prefix, verb := range map[string]string{"transport:": "transport", "tport:serial:": "tport"} {
		if serial, ok := strings.CutPrefix(text, prefix); ok {
			return request{target: wanted{serial: serial}, verb: verb}
		}
	}
	if digits, ok := strings.CutPrefix(text, "transport-id:"); ok {
		return request{target: targetID(digits), verb: "transport"}
	}
	if what, ok := strings.CutPrefix(text, "wait-for-"); ok {
		return request{target: to, verb: "wait-for", rest: what}
	}
	for _, verb := range verbs {
		if rest, ok := strings.CutPrefix(text, verb+":"); ok {
			return request{target: to, verb: verb, rest: rest}
		}
	}
	return request{target: to, verb: text}
}

// targetID is a transport by its number. What is no number is a serial that nothing has.
func targetID(digits string) wanted {
	if id, err := strconv.ParseUint(digits, 10, 64); err == nil && id != 0 {
		return wanted{id: id}
	}
	return wanted{serial: "transport " + digits}
}

// cutSerial splits SERIAL:REST.
func cutSerial(text string, names []string) (serial, rest string) {
	for _, name := range names {
		if rest, ok := strings.CutPrefix(text, name+":"); ok {
			return name, rest
		}
	}
	at := 0
	for _, prefix := range []string{"tcp:", "udp:", "usb:", "product:", "model:", "device:", "vsock:"} {
		if strings.HasPrefix(text, prefix) {
			at = len(prefix)
			break
		}
	}
	if strings.HasPrefix(text[at:], "[") { // an IPv6 address
		if end := strings.IndexByte(text[at:], ']'); end > 0 {
			at += end
		}
	}
	end := strings.IndexByte(text[at:], ':')
	if end < 0 {
		return text, ""
	}
	at += end
	if digits, _, ok := strings.Cut(text[at+1:], ":"); ok {
		if _, err := strconv.ParseUint(digits, 10, 16); err == nil { // a port
			at += 1 + len(digits)
		}
	}
	return text[:at], text[at+1:]
}
