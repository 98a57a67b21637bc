package adb

import (
	"fmt"
	"strings"
)

// What a server says, for those who speak as one.

// OkayAnswer accepts a request.
const OkayAnswer = "OKAY"

// FailAnswer refuses a request.
func FailAnswer(message string) string { return "FAIL" + Block(message) }

// Block is text with its length before it, as ReadBlock reads it. Requests are sent like this as well. What is longer than
// a length can say is cut off.
func Block(text string) string {
	text = text[:min(len(text), 0xffff)]
	return fmt.Sprintf("%04x%s", len(text), text)
}

// Line is d in a list of devices as servers write it, the short one or the long one, with its line break.
func (d Device) Line(long bool) string {
	if !long {
		return d.Serial + "\t" + string(d.State) + "\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-*s %s", serialColumn, d.Serial, d.State)
	if d.USBPath != "" {
		b.WriteString(" " + d.USBPath)
	}
	for _, field := range []struct{ name, value string }{{"product", d.Product}, {"model", d.Model}, {"device", d.Name}} {
		if field.value != "" {
			b.WriteString(" " + field.name + ":" + field.value)
		}
	}
	fmt.Fprintf(&b, "%s%d\n", transportField, d.TransportID)
	return b.String()
}
