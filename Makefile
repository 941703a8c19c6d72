# Three commands do everything: `make run` builds Skylight and serves demo data, `make check` builds and runs the quick tests, and `make test` builds
# and runs every test and leaves pictures of the pages in .build/screenshots. `make test-long` goes on with chance for as long as you like.
# All install what is missing on Debian and Ubuntu, and say so.

PORT ?= 8080
# More for `skylight serve` or for the benchmarks, such as: make run ARGS="--data ./data", make bench ARGS="--quick"
ARGS ?=

# Tests in Swift that run side by side. More would keep each other, and the tests in Python beside them, from answering in time on a small machine.
TESTS_AT_A_TIME ?= 4
# Processes that run the tests in Python side by side: auto is one more than there are processors, 0 is one after the other.
PYTHON_TESTS_AT_A_TIME ?= auto

# The tests that `make check` leaves out: histories, crashes and faults by the hundred, large stores, tables with every cell, processes, and whatever waits
# for time to pass.
LENGTHY := SQLRecordStoreTests\.(Cascade|CompositeIndex|CrashImage|DamagedRow|DiskFault|FeedLaw|HierarchyWalk|IndexBuild|IndexWork|ManyZones|Opening|RandomHistory|RandomSchema|Removal|SharingHistory|SpeedLaw|StalledReader)Tests
LENGTHY := $(LENGTHY)|DataTransferTests\.(DemoData|Export|Fault|File|Pull|Push|TypePull)Tests|AssetStoreTests\.(Compression|Crash|DiskFault|Sweep)Tests|RemoteRecordStoreTests\.ScenarioTests
LENGTHY := $(LENGTHY)|HTTPServingTests\.(Delivery|MemoryBudget|Range|TLS)Tests|ConsoleTests\.MemoryTests|WebServicesTests\.(AccessTable|Memory|RoleMatrix)Tests|RecordsTests\.SchemaFuzzTests|RemoteRecordsTests\.(Convergence|LongLived)Tests
LENGTHY := $(LENGTHY)|CommandLineTests\.(AccessCommand|AccountCommand|Assets|Changes|Check|Damage|Export|Fetch|Import|Mirror|Option|Query|RunningServer|Schema|Secret|Serve)Tests
# The tests in Python that `make check` runs: clients with the protocol, the documented services, every kind of page, a walk through the console, and the
# stores of earlier formats.
QUICK := $(addprefix Tests/,Clients/test_openapi.py Clients/test_pyicloud.py Clients/test_signing_clients.py Browser/test_page_weight.py Browser/test_styles.py Browser/test_tour.py Formats/test_formats.py)
# One configuration for the server, its tests and its benchmarks, so that everything is built once; a build with other flags starts from the
# beginning. Tests may look inside the modules, which costs a server nothing that can be measured. Without debug information BoringSSL compiles
# a quarter faster, Swift modules a little, and object files are half as large or less. Backtraces keep their function names.
BUILD := --configuration release -debug-info-format none -Xswiftc -enable-testing
BIN = $$(swift build $(BUILD) --show-bin-path)

# The tests that run on PostgreSQL, too: what the storage interface promises, histories against the model, its driver, the protocol over HTTP, and servers with a common folder.
ON_POSTGRESQL := SQLRecordStoreTests\.(Scenario|RandomHistory|SharingHistory|AsOfLaw|RandomSchema|KeyValue|TokenLifetime|Journal|CompositeIndex|SharedRemoval|ComparatorTable|PostgreSQLConnection|PostgreSQLStore|SeveralProcesses)Tests|WebServicesTests\.(Scenario|ProtocolAnswer|AssetRecord|AssetService|NotificationHistory|RoleMatrix)Tests|CommandLineTests\.RunningServerTests/aServerThatCannotListen

# Where chance begins: elsewhere with each commit. The tests that depend on it name the seed when they fail.
SKYLIGHT_SEED ?= $(shell printf '%d' "0x$$(git rev-parse --short=7 HEAD 2>/dev/null || echo 1)")
export SKYLIGHT_SEED
# The suites that depend on chance, and in Python also those of which `make test` leaves something out.
CHANCE := SQLRecordStoreTests\.(CrashImage|DiskFault|FeedLaw|RandomHistory|RandomSchema|SharingHistory|SpeedLaw)Tests|AssetStoreTests\.CrashTests|DataTransferTests\.PullTests|RemoteRecordsTests\.(Convergence|LongLived)Tests|WebServicesTests\.NotificationHistoryTests|CommandLineTests\.MirrorTests|ExamplesTests
CHANCE_IN_PYTHON = $(shell grep -lE "^from (chance|looks) import" -r Tests --include="test_*.py")
# How long `make test-long` takes, its build and its last round not counted.
MINUTES ?= 120

# The parts of a run, each with its report.
PART := swift
VENV := .venv
REQUIREMENTS := Tests/requirements.txt
BENCH := .build/benchmarks

.DEFAULT_GOAL := help
.PHONY: help run check test test-long docs build-tests swift-tests postgresql-tests python-tests bench format lint screenshots package package-test image system-packages embedded-files test-packages picture-packages bench-packages

help:
	@echo "make run          build Skylight and serve it with demo data on http://127.0.0.1:$(PORT)"
	@echo "make check        build everything and run the quick tests, for every commit; ONLY=SchemaTests runs that suite alone"
	@echo "make test         build everything and run all tests"
	@echo "make test-long    run what depends on chance again and again: MINUTES=30 for half an hour"
	@echo "make format       format the Swift sources; make check refuses what is not formatted"
	@echo "make bench        measure Skylight beside a program in C and its peers (docs/benchmarks.md)"
	@echo "make package      make a .deb and a .tar.gz that need no Swift (docs/packages.md)"
	@echo "make package-test try the .deb in a bare Debian made by debootstrap; needs root"
	@echo "make image        make a container image of the .deb with buildah; needs root"
	@echo "make docs         make the reference of RemoteRecords, with the docc of Swift's toolchain"
	@echo "make screenshots  take the pictures of the README anew, from the demo data"

run: system-packages embedded-files
	@echo "==> Building Skylight (the first time this takes some minutes)"
	swift build $(BUILD) --product skylight
	@echo "==> Starting Skylight; Ctrl-C ends it"
	@exec "$(BIN)/skylight" serve --demo --port $(PORT) $(ARGS)

test: export PYTHON_TESTS = $(wildcard Tests/Clients Tests/Browser Tests/Durability Tests/Formats)
check: export PYTHON_TESTS = $(QUICK)
# Each process would fill servers of its own with demo data.
check: export PYTHON_TESTS_AT_A_TIME = 0
check: export SWIFT_TESTS = $(if $(ONLY),--filter '$(ONLY)',--skip '$(LENGTHY)')

# The examples, too.
test check: export SKYLIGHT_EXAMPLES = 1

test: export STORE_TESTS = postgresql-tests

check: lint

test check: build-tests
	@echo "==> Running the tests in Swift and in Python side by side; SKYLIGHT_SEED=$(SKYLIGHT_SEED) repeats this run"
	@rm -f .build/tests-in-*
	@status=0; SKYLIGHT_BIN="$(BIN)/skylight" $(MAKE) --no-print-directory --keep-going --jobs=2 swift-tests $(STORE_TESTS) $(if $(ONLY),,python-tests) || status=1; \
		Scripts/test-report .build/tests-in-* || status=1; exit $$status

# New seeds in each round. A failure names its seed, and ends the run.
test-long: export SKYLIGHT_EXAMPLES = 1
test-long: export PYTHON_TESTS = $(CHANCE_IN_PYTHON)
test-long: export SWIFT_TESTS = --filter '$(CHANCE)'
test-long: export STORE_TESTS = postgresql-tests
test-long: build-tests
	@began=$$(date +%s); round=0; taken=0; \
	while [ $$taken -lt $$(($(MINUTES) * 60)) ]; do \
		round=$$((round + 1)); seed=$$(($(SKYLIGHT_SEED) + 1000 * round)); \
		echo "==> Round $$round, after $$((taken / 60)) of $(MINUTES) minutes, SKYLIGHT_SEED=$$seed"; \
		rm -f .build/tests-in-*; \
		SKYLIGHT_SEED=$$seed SKYLIGHT_TIMES=2 SKYLIGHT_BIN="$(BIN)/skylight" \
			$(MAKE) --no-print-directory --keep-going --jobs=2 swift-tests postgresql-tests python-tests || exit 1; \
		Scripts/test-report .build/tests-in-* || exit 1; \
		taken=$$(($$(date +%s) - began)); \
	done; \
	echo "==> $$round rounds in $$((taken / 60)) minutes. Scripts/find-races looks for races with ThreadSanitizer."

build-tests: system-packages embedded-files test-packages $(VENV)/installed
	@echo "==> Building Skylight and its tests"
	swift build $(BUILD) --product skylight
	swift build $(BUILD) --product skylightPackageTests

# Outside of macOS the tests are a program. `swift test` starts it, too, some seconds later, and calls it a success if no test has the name that is asked for.
TESTS = program="$(BIN)/skylightPackageTests.xctest"; run="swift test $(BUILD) --skip-build"; test ! -f "$$program" || run="$$program --testing-library swift-testing"
# Thousands of tests pass for each that fails, so those that failed come last.
swift-tests:
	@$(TESTS); SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$(TESTS_AT_A_TIME) $$run --event-stream-version 0 \
		--event-stream-output-path .build/tests-in-$(PART).jsonl $(SWIFT_TESTS) >.build/$(PART)-tests.log 2>&1 && tail -n 1 .build/$(PART)-tests.log || { \
		tail -n 500 .build/$(PART)-tests.log; echo "==> Tests in Swift that failed (all output is in .build/$(PART)-tests.log):"; \
		grep -E '^✘|recorded an issue|: error: |Fatal error|signal code' .build/$(PART)-tests.log | cut -c 1-1000; exit 1; }

# After the others: beside them was not measured to be faster.
postgresql-tests: swift-tests
	@Scripts/with-postgresql sh -c 'test -n "$$SKYLIGHT_POSTGRESQL" || { echo "==> PostgreSQL is not here: the tests on it are skipped"; exit 0; }; \
		exec $(MAKE) --no-print-directory swift-tests PART=postgresql SWIFT_TESTS="--filter \"$(ON_POSTGRESQL)\""'

# Clients and pages against the running server, and servers that are killed. SKYLIGHT_BIN names the server. On broken pages each test would wait to its end.
python-tests:
	$(VENV)/bin/python -m pytest -p no:cacheprovider -q --maxfail 25 --junitxml .build/tests-in-python.xml -n $(PYTHON_TESTS_AT_A_TIME) $(PYTHON_TESTS)

# The formatter is a part of Swift; .swift-format has its rules.
FORMATTED := Package.swift Sources Tests Examples Benchmarks
format:
	swift format --in-place --parallel --recursive $(FORMATTED)
lint:
	@swift format lint --strict --parallel --recursive $(FORMATTED) || { echo "==> make format mends most of it"; exit 1; }

bench: system-packages embedded-files bench-packages $(BENCH)/venv/installed
	@echo "==> Building Skylight and its benchmarks"
	swift build $(BUILD) --product skylight
	SKYLIGHT_BENCHMARKS=1 swift build $(BUILD) --product skylight-benchmarks
	SKYLIGHT_BENCHMARKS=1 swift build $(BUILD) --product floor-servers
	@echo "==> Measuring; nothing else should run on this machine"
	@bin=$(BIN) && \
		SKYLIGHT_POSTGRESQL_FSYNC=on Scripts/with-postgresql --tcp $(BENCH)/venv/bin/python Benchmarks/driver --skylight "$$bin/skylight" --store "$$bin/skylight-benchmarks" --floor "$$bin/floor-servers" $(ARGS)

docs: system-packages
	@echo "==> Building RemoteRecords"
	swift build $(BUILD) --target RemoteRecords
	@Scripts/make-docs "$(BIN)" --warnings-as-errors

screenshots: system-packages embedded-files test-packages picture-packages $(VENV)/installed
	@echo "==> Building Skylight"
	swift build $(BUILD) --product skylight
	@echo "==> Taking the pictures of the README"
	@SKYLIGHT_BIN="$(BIN)/skylight" $(VENV)/bin/python Scripts/take-screenshots docs

package: system-packages
	@Scripts/install-packages binutils dpkg-dev git
	@Scripts/make-package

# A release of Debian for `make package-test`.
SUITE ?= bookworm
# The newest.
PACKAGE = $$(ls -t .build-package/packages/skylight_*.deb | head -n 1)
package-test: package
	@Scripts/install-packages curl debootstrap lintian "systemd-container?"
	@Scripts/test-package "$(PACKAGE)" $(SUITE)
image: package
	@Scripts/install-packages buildah debootstrap
	@Scripts/make-image "$(PACKAGE)"

# For templates, static files and demo files that were added or removed.
embedded-files:
	@Scripts/embed-files

system-packages:
	@Scripts/require-swift
	@Scripts/install-packages libpq-dev libsqlite3-dev zlib1g-dev

test-packages:
	@Scripts/install-packages 'chromium-headless-shell|chromium' curl gzip openssl postgresql python3 'webkit2gtk-driver?' 'xvfb?'

# The demo data has Japanese text and emoji, which the pictures show.
picture-packages:
	@Scripts/install-packages fonts-noto-cjk fonts-noto-color-emoji

bench-packages:
	@Scripts/install-packages gcc libc6-dev libssl-dev nginx postgresql python3 wrk

$(BENCH)/venv/installed: Benchmarks/requirements.txt Scripts/make-venv
	@mkdir -p $(BENCH)
	@Scripts/make-venv $(BENCH)/venv Benchmarks/requirements.txt
	@touch $@

# The packages of the tests in Python, in a folder of their own.
$(VENV)/installed: $(REQUIREMENTS) Scripts/make-venv
	@Scripts/make-venv $(VENV) $(REQUIREMENTS)
	@touch $@
