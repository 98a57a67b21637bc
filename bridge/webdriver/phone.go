package webdriver

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/bridge"
)

// Phone is what Chromium plays. The zero value is an Android phone of a common size.
type Phone struct {
	Device        string  // one that Chromium knows by name, "Pixel 7" say; then the others are zero
	Width, Height int     // of the screen, in CSS pixels; 0: 412 and 915
	PixelRatio    float64 // 0: 2.625
	UserAgent     string  // "": Chromium's own on Android
}

// maxSide is the longest side of a screen in CSS pixels.
const maxSide = 10000

const (
	commonWidth, commonHeight = 412, 915
	commonRatio               = 2.625
)

var errDevices = fmt.Errorf("devices must be a number from 1 to %d", phonebooth.MaxDevicesPerHost)

func (p Phone) check() error {
	switch {
	case p.Device != "" && p != Phone{Device: p.Device}:
		return errors.New("device names a whole phone: leave out width, height, pixel_ratio and user_agent")
	case p.Width < 0 || p.Width > maxSide || p.Height < 0 || p.Height > maxSide:
		return fmt.Errorf("width and height must be numbers from 1 to %d", maxSide)
	case math.IsNaN(p.PixelRatio) || p.PixelRatio < 0 || p.PixelRatio > 10:
		return errors.New("pixel_ratio must be a number above 0, of 10 at most")
	case strings.ContainsFunc(p.UserAgent+p.Device, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return errors.New("user_agent and device must be one line of text")
	}
	return nil
}

// whole is p with everything said. major is Chromium's version.
func (p Phone) whole(major string) Phone {
	if p.Device != "" {
		return p
	}
	if p.Width == 0 {
		p.Width = commonWidth
	}
	if p.Height == 0 {
		p.Height = commonHeight
	}
	if p.PixelRatio == 0 {
		p.PixelRatio = commonRatio
	}
	if p.UserAgent == "" { // with the names that Chromium itself puts for those of a phone and its system
		p.UserAgent = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/" + major + ".0.0.0 Mobile Safari/537.36"
	}
	return p
}

// attributes are what the host's people see of a whole phone.
func (p Phone) attributes() map[string]string {
	if p.Device != "" {
		return map[string]string{"emulates": p.Device}
	}
	return map[string]string{
		"viewport":    strconv.Itoa(p.Width) + "x" + strconv.Itoa(p.Height),
		"pixel_ratio": strconv.FormatFloat(p.PixelRatio, 'g', -1, 64),
		"user_agent":  p.UserAgent,
	}
}

// emulation is a whole phone as chromedriver is told of it.
func (p Phone) emulation() map[string]any {
	if p.Device != "" {
		return map[string]any{"deviceName": p.Device}
	}
	e := map[string]any{
		"deviceMetrics": map[string]any{
			"width": p.Width, "height": p.Height, "pixelRatio": p.PixelRatio, "mobile": true, "touch": true,
		},
		"userAgent": p.UserAgent,
	}
	if strings.Contains(p.UserAgent, "Android") {
		e["clientHints"] = map[string]any{"platform": "Android", "mobile": true}
	}
	return e
}

// Open makes a bridge of settings, all of which may be left out:
//
//	devices                        how many phones, from 1
//	chromedriver, chromium         the programs, by name or path
//	device                         a phone that Chromium knows by name, or:
//	width, height, pixel_ratio     its screen, in CSS pixels, and
//	user_agent                     what it calls itself
func Open(settings bridge.Settings) (bridge.Bridge, error) {
	if err := settings.Only("devices", "chromedriver", "chromium", "device", "width", "height", "pixel_ratio", "user_agent"); err != nil {
		return nil, err
	}
	for name, value := range settings {
		if strings.TrimSpace(value) == "" {
			return nil, fmt.Errorf("%s is empty; leave it out for what is usual", name)
		}
	}
	o := Options{
		Chromedriver: settings["chromedriver"], Chromium: settings["chromium"],
		Phone: Phone{Device: settings["device"], UserAgent: settings["user_agent"]},
	}
	sides := fmt.Errorf("width and height must be numbers from 1 to %d", maxSide)
	for name, number := range map[string]struct {
		to      *int
		refusal error
	}{"devices": {&o.Devices, errDevices}, "width": {&o.Phone.Width, sides}, "height": {&o.Phone.Height, sides}} {
		if text, ok := settings[name]; ok {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 {
				return nil, number.refusal
			}
			*number.to = n
		}
	}
	if text, ok := settings["pixel_ratio"]; ok {
		ratio, err := strconv.ParseFloat(text, 64)
		if err != nil || ratio <= 0 {
			return nil, errors.New("pixel_ratio must be a number above 0, of 10 at most")
		}
		o.Phone.PixelRatio = ratio
	}
	return New(o)
}
