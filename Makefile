# Deft's commands. `make` alone lists them. CI runs `make test` and nothing else.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO ?= go
# The linter itself is built with no flags, whatever it looks at. It runs beside the one of another clone.
LINT = $$($(GO) tool -modfile=$(CURDIR)/tools/go.mod -n golangci-lint)
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
FUZZTIME ?= 30s
BASE ?= HEAD
# The race detector, but not inside SQLite: that is C translated to Go, where it would
# cost ten times the processor time and could find nothing of ours.
RACE = -race -gcflags=modernc.org/...=-race=false

# A program with the race detector waits for a second before it ends, for races of goroutines
# that it leaves behind. Ours leave none (goleak), and there are 170 of them.
BRISK = GORACE=atexit_sleep_ms=0

# The linker leaves out what debuggers alone read: a fifth of its work.
LINKED = -ldflags="-s -w"

# As build.sh does, so that all compile the same packages once, and clones share them.
FLAGS = GOFLAGS="$$($(GO) env GOFLAGS) -trimpath -buildvcs=false"
SHARED = CGO_ENABLED=0 $(FLAGS)

# The reference implementation that some tests compare with; make deps
# installs it.
export DEFT_OPENHANDS_PYTHON ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/deft-deps/openhands-1.58/bin/python

# The engine that make deps starts if there is no other one.
export DEFT_TEST_DOCKER ?= unix://$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/deft-deps/docker/docker.sock

# The PostgreSQL server that make deps starts.
export DEFT_TEST_POSTGRES ?= postgres://postgres@/postgres?host=$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/deft-deps/postgres

# gVisor, which make deps builds.
RUNSC ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/deft-deps/gvisor/runsc

.PHONY: help
help: ## List the commands.
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: build ## Build Deft and serve its web app; the page has a demo that needs no key.
	@bin/deft serve

.PHONY: build
build: web ## Build bin/deft, one static binary.
	GO=$(GO) sandbox/program/build.sh bin/deft -ldflags "-s -w -X main.version=$(VERSION)"

.PHONY: web
web: ## Build the web app into web/dist, from where it goes into the binary.
	@web/scripts/build.sh

.PHONY: release
release: web ## Build the release archives dist/deft-VERSION-linux-ARCH.tar.gz.
	@rm -rf dist; for arch in amd64 arm64; do \
	  dir=dist/deft-$(VERSION)-linux-$$arch; mkdir -p $$dir; \
	  GO=$(GO) GOOS=linux GOARCH=$$arch sandbox/program/build.sh $$dir/deft -ldflags "-s -w -X main.version=$(VERSION)"; \
	  cp LICENSE README.md CHANGELOG.md $$dir/; cp internal/licenses/LICENSES.txt $$dir/LICENSES; \
	  tar -czf $$dir.tar.gz -C dist $$(basename $$dir); rm -r $$dir; echo $$dir.tar.gz; \
	done

# The steps before the tests are quick where nothing has changed. The policy tests are one.
.PHONY: test
test: deps web ## Run everything that CI runs.
	@$(MAKE) --no-print-directory --output-sync=target -j2 format tidy policy lint generated pages build
	@$(MAKE) --no-print-directory --keep-going unit system
	@echo "all tests passed"

# Packages of test/ run the built binary, but for two of unit. cmd/deft runs itself hundreds of
# times, which takes ten times as long with the race detector: make proof does that.
# These have a browser; these engines, databases and servers that are killed; the others use
# little more than one processor.
BROWSER = ./test/web ./test/interop/canvas
HEAVY = ./test/appserver ./test/containers ./test/crash ./test/runtimeapi
LIGHT = $$($(GO) list ./cmd/deft ./test/... | grep -vE '/test/(policy|llmmocks)$$' | grep -vxF "$$($(GO) list $(BROWSER) $(HEAVY))")

# Prints results as go test does, and names the tests of a suite that has stopped.
WATCH = $(GO) run ./test/run/watch

.PHONY: unit
unit: ## Run the tests of packages, with the race detector.
	CGO_ENABLED=1 $(BRISK) $(FLAGS) $(GO) test -json $(RACE) $(LINKED) -vet=off -shuffle=on -timeout 40m $$($(GO) list ./... | grep -vE '/(test/|cmd/deft$$)') ./test/llmmocks | $(WATCH)

# A browser waits half of the time, so the light packages run beside it. The heavy ones follow,
# one after another. The tests use a copy of the binary, because some run it as another user.
# The race detector would see nothing of another process.
.PHONY: system browser light heavy
system: build ## Run the tests of the built binary: pages beside light packages, then heavy ones.
	@dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; chmod 755 "$$dir"; cp bin/deft "$$dir"; \
	export DEFT_BIN=$$dir/deft; failed=0; \
	$(MAKE) --no-print-directory --keep-going -j2 browser light || failed=1; \
	$(MAKE) --no-print-directory heavy || failed=1; exit $$failed
ONE_BY_ONE = $(SHARED) $(GO) test -json -p 1 $(LINKED) -vet=off -shuffle=on -timeout 40m
browser:
	$(ONE_BY_ONE) $(BROWSER) | $(WATCH)
light:
	$(ONE_BY_ONE) $(LIGHT) | $(WATCH)
heavy:
	$(ONE_BY_ONE) $(HEAVY) | $(WATCH)

.PHONY: check
check: format ## Check what differs from BASE (default HEAD): quick, before a commit.
	@pkgs=$$(test/run/changed.sh $(BASE)); \
	if [[ -z "$$pkgs" ]]; then echo "no package differs from $(BASE)"; pkgs=./test/policy; fi; \
	echo "check:" $$pkgs; \
	$(SHARED) $(LINT) run --allow-parallel-runners $$pkgs; \
	$(SHARED) $(GO) test -short -timeout 5m ./test/policy $$pkgs

.PHONY: deps
deps: ## Install what tests need besides Go.
	@test/deps/install.sh

.PHONY: bench
bench: build ## Run the benchmarks, and measure bin/deft end to end against its budgets.
	$(GO) test -run '^$$' -bench . -benchmem -timeout 30m ./...
	$(GO) run ./test/bench -deft bin/deft $(if $(wildcard $(DEFT_OPENHANDS_PYTHON)),-openhands $(DEFT_OPENHANDS_PYTHON))
	$(GO) run ./test/bench/runtimeapi -deft bin/deft $(if $(wildcard $(DEFT_TEST_DOCKER:unix://%=%)),-docker $(DEFT_TEST_DOCKER))
	$(GO) run ./test/bench/containers -deft bin/deft $(if $(wildcard $(DEFT_TEST_DOCKER:unix://%=%)),-docker $(DEFT_TEST_DOCKER)) $(if $(wildcard $(RUNSC)),-runsc $(RUNSC))
	$(GO) run ./test/bench/agentserver -deft bin/deft $(if $(wildcard $(DEFT_OPENHANDS_PYTHON)),-openhands $(DEFT_OPENHANDS_PYTHON))
	$(GO) run ./test/bench/appserver -deft bin/deft $(if $(wildcard $(DEFT_TEST_DOCKER:unix://%=%)),-docker $(DEFT_TEST_DOCKER)) $(if $(DEFT_TEST_POSTGRES),-postgres '$(DEFT_TEST_POSTGRES)')

.PHONY: proof
proof: deps ## Run the slow proofs: the table of attacks, every crash and chaos test in full, then fuzzing.
	$(GO) run ./test/proof
	DEFT_PROOF=1 $(GO) test -count=1 -timeout 120m ./...
	CGO_ENABLED=1 $(FLAGS) $(GO) test $(RACE) -timeout 60m ./cmd/deft
	test/run/fuzz.sh $(FUZZTIME)

.PHONY: fuzz
fuzz: ## Fuzz every parser for FUZZTIME (default 30s) each.
	test/run/fuzz.sh $(FUZZTIME)

.PHONY: lint
lint: ## Run the linters, as .golangci.yaml lists them; go vet is one.
	$(SHARED) $(LINT) run --allow-parallel-runners ./...
	cd examples/outside && $(SHARED) $(LINT) run --allow-parallel-runners ./...

.PHONY: clean
clean: ## Remove the build results.
	rm -rf bin dist

# The first steps of make test. They can be run alone too.
.PHONY: format tidy policy generated pages
format:
	@bad=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go' | while read -r f; do [[ -e $$f ]] && echo "$$f"; done)); \
	if [[ -n "$$bad" ]]; then echo "gofmt these:" $$bad >&2; exit 1; fi
tidy:
	$(GO) mod tidy -diff
	cd tools && $(GO) mod tidy -diff
	cd examples/outside && $(GO) mod tidy -diff
policy:
	$(SHARED) $(GO) test ./test/policy
generated:
	$(SHARED) test/run/generated.sh
pages:
	@web/scripts/test.sh
