package webdriver

import (
	"context"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/bridge"
)

// Examine looks at the two programs.
func (b *Bridge) Examine(ctx context.Context) []bridge.Finding {
	h := b.look(ctx)
	if h.condition != phonebooth.Ready {
		return []bridge.Finding{{Subject: "webdriver programs", Verdict: bridge.Ill, Message: h.reason}}
	}
	browser, driver := h.programs.browser, h.programs.driver
	return []bridge.Finding{{
		Subject: "webdriver programs", Verdict: bridge.Well,
		Message: browser.name + " " + browser.version + ", " + driver.name + " " + driver.version,
	}}
}
