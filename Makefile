# Two commands do everything: `make run` builds Skylight and serves demo data, `make test` builds and runs every test and leaves pictures of the
# pages in .build/screenshots.
# Both install what is missing on Debian and Ubuntu, and say so.

PORT ?= 8080
# More for `skylight serve` or for the benchmarks, such as: make run ARGS="--data ./data", make bench ARGS="--quick"
ARGS ?=

# Tests in Swift that run side by side. More would keep each other from answering in time on a small machine.
TESTS_AT_A_TIME ?= 8
# Processes that run the tests in Python side by side: auto is one more than there are processors, 0 is one after the other.
PYTHON_TESTS_AT_A_TIME ?= auto

# Flags of every release build; a build with other flags starts from the beginning. Nobody debugs a release, and without debug information
# BoringSSL compiles a quarter faster, Swift modules a little, and object files are half as large or less. Backtraces keep their function names.
RELEASE := --configuration release -debug-info-format none

VENV := .venv
REQUIREMENTS := Tests/requirements.txt
BENCH := .build/benchmarks

.DEFAULT_GOAL := help
.PHONY: help run test bench screenshots system-packages test-packages bench-packages

help:
	@echo "make run          build Skylight and serve it with demo data on http://127.0.0.1:$(PORT)"
	@echo "make test         build everything and run all tests"
	@echo "make bench        measure Skylight beside a program in C and its peers (docs/benchmarks.md)"
	@echo "make screenshots  take the pictures of the README anew, from the demo data"

run: system-packages
	@echo "==> Building Skylight (the first time this takes some minutes)"
	swift build $(RELEASE) --product skylight
	@echo "==> Starting Skylight; Ctrl-C ends it"
	@exec "$$(swift build --configuration release --show-bin-path)/skylight" serve --demo --port $(PORT) $(ARGS)

test: system-packages test-packages $(VENV)/installed
	@echo "==> Building Skylight and its tests"
	swift build --build-tests
	@echo "==> Running the tests in Swift"
	SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$(TESTS_AT_A_TIME) swift test --skip-build
	@echo "==> Running the tests in Python: clients and pages against the running server, and servers that are killed"
	SKYLIGHT_BIN="$$(swift build --show-bin-path)/skylight" $(VENV)/bin/python -m pytest -p no:cacheprovider -q -n $(PYTHON_TESTS_AT_A_TIME) $(wildcard Tests/Clients Tests/Browser Tests/Durability)

bench: system-packages bench-packages $(BENCH)/venv/installed
	@echo "==> Building Skylight and its benchmarks"
	swift build $(RELEASE) --product skylight
	SKYLIGHT_BENCHMARKS=1 swift build $(RELEASE) --product skylight-benchmarks
	@echo "==> Measuring; nothing else should run on this machine"
	@bin=$$(swift build --configuration release --show-bin-path) && \
		$(BENCH)/venv/bin/python Benchmarks/driver --skylight "$$bin/skylight" --store "$$bin/skylight-benchmarks" $(ARGS)

screenshots: system-packages test-packages $(VENV)/installed
	@echo "==> Building Skylight"
	swift build $(RELEASE) --product skylight
	@echo "==> Taking the pictures of the README"
	@SKYLIGHT_BIN="$$(swift build --configuration release --show-bin-path)/skylight" $(VENV)/bin/python Scripts/take-screenshots docs

system-packages:
	@Scripts/require-swift
	@Scripts/install-packages libsqlite3-dev zlib1g-dev

test-packages:
	@Scripts/install-packages 'chromium-headless-shell|chromium' curl gzip openssl python3

bench-packages:
	@Scripts/install-packages gcc libc6-dev libssl-dev nginx python3 wrk

$(BENCH)/venv/installed: Benchmarks/requirements.txt Scripts/make-venv
	@mkdir -p $(BENCH)
	@Scripts/make-venv $(BENCH)/venv Benchmarks/requirements.txt
	@touch $@

# The packages of the tests in Python, in a folder of their own.
$(VENV)/installed: $(REQUIREMENTS) Scripts/make-venv
	@Scripts/make-venv $(VENV) $(REQUIREMENTS)
	@touch $@
