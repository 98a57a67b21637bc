# `make` lists what there is. Variables can be given: make test PKG=./internal/ledger/...

PKG   ?= ./...
BENCH ?= .
ARGS  ?=
FUZZTIME ?= 30s

# SQLite is a translated C program that shares nothing between goroutines. The race
# detector finds nothing in it and makes it thirty times slower, so it stays outside.
# chromedp, which drives the browser in tests, reads its own nodes without its lock.
RACE  ?= -race -gcflags='github.com/ncruces/go-sqlite3-wasm/...=-race=false' -gcflags='github.com/chromedp/...=-race=false'
TOOL  := go tool -modfile=tools/go.mod

.PHONY: help
help:
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: install
install: ## Install the Debian packages that tests need and this machine lacks (as root)
	@bash .ci/install

# One package at a time: those that kill real processes by the clock have the machine for themselves.
.PHONY: test
test: install ## Run every test on both databases under the race detector; nothing is skipped
	CI=true go test $(RACE) -p 1 -timeout 20m $(PKG)

.PHONY: test-fast
test-fast: ## Run the tests on SQLite alone, without the race detector
	PG_BIN=none go test $(PKG)

.PHONY: test-chaos
test-chaos: install ## Kill everything in every phase, a hundred times, and look for leaks after 200 attempts; PHONEBOOTH_CHAOS_SEED repeats a run
	CI=true PHONEBOOTH_CHAOS=1 go test ./cmd/phonebooth -run '^Test(Chaos|Leak)_' -count=1 -v -timeout 20m

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME
	@set -e; for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
	  for target in $$(grep -ho '^func Fuzz[A-Za-z0-9_]*' $$dir/*_test.go | cut -c6-); do \
	    echo "$$target of $$dir"; go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$dir; \
	  done; \
	done

.PHONY: lint
lint: ## Check form, vet, staticcheck and dead code
	@unformed=$$($(TOOL) gofumpt -l .) && test -z "$$unformed" || { echo "gofumpt would change: $$unformed"; exit 1; }
	go vet $(PKG)
	GOOS=darwin go vet $(PKG)
	$(TOOL) staticcheck $(PKG)
	@dead=$$($(TOOL) deadcode -test $(PKG)) && test -z "$$dead" || { echo "$$dead"; exit 1; }

.PHONY: demo
demo: ## Watch tasks go through a small simulated pool
	go run ./cmd/phonebooth demo $(ARGS)

.PHONY: dev
dev: ## Run a whole system on this machine with every phone that adb sees; ARGS="--sim 2" adds simulated ones
	go run ./cmd/phonebooth dev $(ARGS)

.PHONY: screenshots
screenshots: install ## Write a picture of every view of the dashboard into bin/screenshots: light, dark, and as wide as a phone
	CI=true PHONEBOOTH_SCREENSHOTS=$(CURDIR)/bin/screenshots go test ./internal/webui -run '^TestScreenshots$$' -count=1

.PHONY: bench
bench: install ## Measure; BENCH and PKG choose what
	CI=true go test -run '^$$' -bench '$(BENCH)' -benchmem -timeout 30m $(PKG)

.PHONY: gen
gen: ## Write again what is made from code
	go test ./internal/lifecycle -run '^TestStateMachineDoc$$' -update
	go test ./internal/httpapi -run OpenAPI -update

.PHONY: verify
verify: gen ## Fail if what is made from code was not committed
	git diff --exit-code
