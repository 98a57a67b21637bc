package adb

import (
	"context"
	"fmt"
	"strings"
)

// Properties reads d's system properties. A ready Android device always has some.
func (c *Client) Properties(ctx context.Context, d Device) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*c.options.CallTimeout)
	defer cancel()
	out, err := c.Shell(ctx, d, "getprop")
	if err != nil {
		return nil, fmt.Errorf("reading properties: %w", err)
	}
	if out.ExitCode != 0 {
		return nil, fmt.Errorf("reading properties: getprop ended with %d", out.ExitCode)
	}
	return parseProperties(out.Stdout), nil
}

// parseProperties reads lines of "[name]: [value]". A value may hold line breaks.
func parseProperties(text string) map[string]string {
	properties := map[string]string{}
	var name string
	var value []string // the lines so far of one that is not closed yet
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if value == nil {
			rest, ok := strings.CutPrefix(line, "[")
			if !ok {
				continue
			}
			if name, line, ok = strings.Cut(rest, "]: ["); !ok {
				continue
			}
		}
		body, closed := strings.CutSuffix(line, "]")
		value = append(value, body)
		if closed {
			properties[printable(name)] = strings.Join(value, "\n")
			value = nil
		}
	}
	return properties
}
