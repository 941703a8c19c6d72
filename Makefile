# Three commands do everything: `make run` builds Skylight and serves demo data, `make check` builds and runs the quick tests, and `make test` builds
# and runs every test and leaves pictures of the pages in .build/screenshots.
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
LENGTHY := $(LENGTHY)|DataTransferTests\.(DemoData|Export)Tests|AssetStoreTests\.(Compression|Crash|DiskFault|Sweep)Tests|RemoteRecordStoreTests\.ScenarioTests
LENGTHY := $(LENGTHY)|HTTPServingTests\.(Delivery|MemoryBudget|Range|TLS)Tests|ConsoleTests\.MemoryTests|WebServicesTests\.(AccessTable|Memory|RoleMatrix)Tests|RecordsTests\.SchemaFuzzTests|MirroringTests\.(Fault|File|Pull|Push|TypePull)Tests|RemoteRecordsTests\.(Convergence|LongLived)Tests
LENGTHY := $(LENGTHY)|CommandLineTests\.(AccessCommand|AccountCommand|Assets|Changes|Check|Damage|Export|Import|Mirror|Option|RunningServer|Schema|Secret|Serve)Tests
# The tests in Python that `make check` runs: clients with the protocol, the documented services, every kind of page, and a walk through the console.
QUICK := $(addprefix Tests/,Clients/test_openapi.py Clients/test_pyicloud.py Clients/test_signing_clients.py Browser/test_page_weight.py Browser/test_styles.py Browser/test_tour.py)
# Flags of every release build; a build with other flags starts from the beginning. Nobody debugs a release, and without debug information
# BoringSSL compiles a quarter faster, Swift modules a little, and object files are half as large or less. Backtraces keep their function names.
RELEASE := --configuration release -debug-info-format none

# The tests that run on PostgreSQL, too: what the storage interface promises, histories against the model, its driver, the protocol over HTTP, and servers with a common folder.
ON_POSTGRESQL := SQLRecordStoreTests\.(Scenario|RandomHistory|SharingHistory|RandomSchema|KeyValue|TokenLifetime|Journal|CompositeIndex|SharedRemoval|ComparatorTable|PostgreSQLConnection|PostgreSQLStore|SeveralProcesses)Tests|WebServicesTests\.(Scenario|ProtocolAnswer|AssetRecord|AssetService|NotificationHistory|RoleMatrix)Tests|CommandLineTests\.RunningServerTests/aServerThatCannotListen

SWIFT_LOG := .build/swift-tests.log
VENV := .venv
REQUIREMENTS := Tests/requirements.txt
BENCH := .build/benchmarks

.DEFAULT_GOAL := help
.PHONY: help run check test build-tests swift-tests postgresql-tests python-tests bench screenshots system-packages test-packages picture-packages bench-packages

help:
	@echo "make run          build Skylight and serve it with demo data on http://127.0.0.1:$(PORT)"
	@echo "make check        build everything and run the quick tests, for every commit"
	@echo "make test         build everything and run all tests"
	@echo "make bench        measure Skylight beside a program in C and its peers (docs/benchmarks.md)"
	@echo "make screenshots  take the pictures of the README anew, from the demo data"

run: system-packages
	@echo "==> Building Skylight (the first time this takes some minutes)"
	swift build $(RELEASE) --product skylight
	@echo "==> Starting Skylight; Ctrl-C ends it"
	@exec "$$(swift build --configuration release --show-bin-path)/skylight" serve --demo --port $(PORT) $(ARGS)

test: export PYTHON_TESTS = $(wildcard Tests/Clients Tests/Browser Tests/Durability)
check: export PYTHON_TESTS = $(QUICK)
# Each process would fill servers of its own with demo data.
check: export PYTHON_TESTS_AT_A_TIME = 0
check: export SWIFT_TESTS = --skip '$(LENGTHY)'

# The examples, too.
test check: export SKYLIGHT_EXAMPLES = 1

test: export STORE_TESTS = postgresql-tests

test check: build-tests
	@echo "==> Running the tests in Swift and in Python side by side; the output of each part follows when it ends"
	@SKYLIGHT_BIN="$$(swift build --show-bin-path)/skylight" \
		$(MAKE) --no-print-directory --jobs=2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) swift-tests $(STORE_TESTS) python-tests

build-tests: system-packages test-packages $(VENV)/installed
	@echo "==> Building Skylight and its tests"
	swift build --build-tests

# Thousands of tests pass for each that fails, so those that failed come last.
swift-tests:
	@SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$(TESTS_AT_A_TIME) swift test --skip-build $(SWIFT_TESTS) >$(SWIFT_LOG) 2>&1 && tail -n 1 $(SWIFT_LOG) || { \
		tail -n 500 $(SWIFT_LOG); echo "==> Tests in Swift that failed (all output is in $(SWIFT_LOG)):"; \
		grep -E '^✘|recorded an issue|: error: |Fatal error|signal code' $(SWIFT_LOG) | cut -c 1-1000; exit 1; }

# After the others, because one command at a time uses the build.
postgresql-tests: swift-tests
	@Scripts/with-postgresql sh -c 'test -n "$$SKYLIGHT_POSTGRESQL" || { echo "==> PostgreSQL is not here: the tests on it are skipped"; exit 0; }; \
		exec $(MAKE) --no-print-directory swift-tests SWIFT_LOG=.build/postgresql-tests.log SWIFT_TESTS="--filter \"$(ON_POSTGRESQL)\""'

# Clients and pages against the running server, and servers that are killed. SKYLIGHT_BIN names the server.
python-tests:
	$(VENV)/bin/python -m pytest -p no:cacheprovider -q -n $(PYTHON_TESTS_AT_A_TIME) $(PYTHON_TESTS)

bench: system-packages bench-packages $(BENCH)/venv/installed
	@echo "==> Building Skylight and its benchmarks"
	swift build $(RELEASE) --product skylight
	SKYLIGHT_BENCHMARKS=1 swift build $(RELEASE) --product skylight-benchmarks
	@echo "==> Measuring; nothing else should run on this machine"
	@bin=$$(swift build --configuration release --show-bin-path) && \
		SKYLIGHT_POSTGRESQL_FSYNC=on Scripts/with-postgresql --tcp $(BENCH)/venv/bin/python Benchmarks/driver --skylight "$$bin/skylight" --store "$$bin/skylight-benchmarks" $(ARGS)

screenshots: system-packages test-packages picture-packages $(VENV)/installed
	@echo "==> Building Skylight"
	swift build $(RELEASE) --product skylight
	@echo "==> Taking the pictures of the README"
	@SKYLIGHT_BIN="$$(swift build --configuration release --show-bin-path)/skylight" $(VENV)/bin/python Scripts/take-screenshots docs

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
