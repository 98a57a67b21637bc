package cli

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// byteLimit reads a number of bytes such as 50GiB: 0 for "", which leaves it to the server, and -1 for none.
func byteLimit(text string) (int64, error) {
	wrong := errors.New("is a size such as 500MiB, 50GiB or 2TB, or none")
	switch text {
	case "":
		return 0, nil
	case "none":
		return -1, nil
	}
	digits := strings.TrimRightFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	n, err := strconv.ParseInt(digits, 10, 64)
	factor, known := map[string]int64{
		"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40,
	}[strings.ToUpper(strings.TrimSpace(text[len(digits):]))]
	if err != nil || !known || n < 1 || n > math.MaxInt64/factor {
		return 0, wrong
	}
	return n * factor, nil
}
