# Two commands do everything: `make run` builds Skylight and serves demo data, `make test` builds and runs every test.
# Both install what is missing on Debian and Ubuntu, and say so.

PORT ?= 8080
# More for `skylight serve`, such as: make run ARGS="--data ./data"
ARGS ?=

VENV := .venv
REQUIREMENTS := Tests/requirements.txt

.DEFAULT_GOAL := help
.PHONY: help run test system-packages test-packages

help:
	@echo "make run     build Skylight and serve it with demo data on http://127.0.0.1:$(PORT)"
	@echo "make test    build everything and run all tests"

run: system-packages
	@echo "==> Building Skylight (the first time this takes some minutes)"
	swift build --configuration release --product skylight
	@echo "==> Starting Skylight; Ctrl-C ends it"
	@exec "$$(swift build --configuration release --show-bin-path)/skylight" serve --demo --port $(PORT) $(ARGS)

test: system-packages test-packages $(VENV)/installed
	@echo "==> Building Skylight and its tests"
	swift build --build-tests
	@echo "==> Running the tests in Swift"
	swift test --skip-build
	@echo "==> Running the tests in Python: clients and pages against the running server"
	SKYLIGHT_BIN="$$(swift build --show-bin-path)/skylight" $(VENV)/bin/python -m pytest -p no:cacheprovider -q $(wildcard Tests/Clients Tests/Browser)

system-packages:
	@Scripts/require-swift
	@Scripts/install-packages libsqlite3-dev zlib1g-dev

test-packages:
	@Scripts/install-packages chromium python3

# The packages of the tests in Python, in a folder of their own.
$(VENV)/installed: $(REQUIREMENTS) Scripts/make-venv
	@Scripts/make-venv $(VENV) $(REQUIREMENTS)
	@touch $@
