// swift-tools-version:6.1
import PackageDescription

// The targets, layer by layer: a target imports only the targets on its dependency line. docs/architecture.md describes
// each layer.

let package = Package(
    name: "skylight",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "skylight", targets: ["skylight"]),
        // With the modules whose types its programs use. None of them belongs to the server.
        // A trait for what only the server needs was tried: a program with RemoteRecords would fetch 23 packages instead
        // of 27, 204 MB instead of 211, and build the same modules. async-http-client brings most of the others.
        .library(name: "RemoteRecords", targets: ["RemoteRecords", "CloudKitClient", "Records", "JSON"]),
        // For the tests of such programs: a server within the test.
        .library(name: "SkylightTesting", targets: ["SkylightTesting", "RecordStore"]),
    ],
    traits: [.trait(name: "PostgreSQL", description: "Keeps records in PostgreSQL, if asked to")],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1.git", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.6"),
        .package(url: "https://github.com/groue/GRDB.swift.git", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1", traits: []),
        .package(url: "https://github.com/hummingbird-project/swift-mustache.git", from: "2.1.1"),
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
    ]
)

// Stores in PostgreSQL need its client library, libpq. On macOS it is not there by itself: brew install libpq, and
// build with --traits PostgreSQL.
#if os(Linux)
    package.traits.insert(.default(enabledTraits: ["PostgreSQL"]))
#endif

// MARK: - What targets are made of

let swiftSettings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

func layer(_ name: String, on dependencies: [Target.Dependency] = [], excluding files: [String] = []) -> Target {
    .target(name: name, dependencies: dependencies, exclude: files, swiftSettings: swiftSettings)
}

/// Shared by tests, in Tests.
func support(_ name: String, on dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, path: "Tests/\(name)", swiftSettings: swiftSettings)
}

// Tests are built in the server's own configuration, a release. Unoptimised, they compile in a quarter of the time.
// Without optimisation the compiler would also make each module apart from its objects, which reads all sources twice;
// no target waits for the module of a test. Packages that depend on this one do not build tests, so the flags do not
// keep them from it.
func tests(_ name: String, of dependencies: [Target.Dependency]) -> Target {
    .testTarget(
        name: name, dependencies: dependencies,
        swiftSettings: swiftSettings + [.unsafeFlags(["-Onone", "-no-emit-module-separately-wmo"])])
}

func program(_ name: String, at path: String? = nil, on dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, path: path, swiftSettings: swiftSettings)
}

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let asyncHTTPClient = Target.Dependency.product(name: "AsyncHTTPClient", package: "async-http-client")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let cryptoExtras = Target.Dependency.product(name: "CryptoExtras", package: "swift-crypto")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let grdbSQLite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird")
let hummingbirdTesting = Target.Dependency.product(name: "HummingbirdTesting", package: "hummingbird")
let hummingbirdTLS = Target.Dependency.product(name: "HummingbirdTLS", package: "hummingbird")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let mustache = Target.Dependency.product(name: "Mustache", package: "swift-mustache")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let nioTLS = Target.Dependency.product(name: "NIOTLS", package: "swift-nio")
let serviceLifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let swiftASN1 = Target.Dependency.product(name: "SwiftASN1", package: "swift-asn1")
let unixSignals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")

// MARK: - The layers

package.targets = [
    .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
    .systemLibrary(name: "CSystemCalls"),
    layer("CEmbeddedFiles", excluding: ["Demo"]),
    layer("Records"),
    // For programs that import the module it was: all of it is in Records.
    layer("JSON", on: ["Records"]),
    layer("RecordStore", on: ["Records", crypto]),
    layer(
        "CloudKitClient",
        on: ["Records", asyncHTTPClient, crypto, logging, nioCore, nioHTTP1, nioPosix, nioSSL]),
    layer("RequestLog", on: ["RecordStore", "Records"]),
    layer(
        "AssetStore", on: ["RecordStore", "Records", "CSystemCalls", "CZlib", crypto, logging, nioCore, nioPosix]),
    layer("Accounts", on: ["Records", crypto, cryptoExtras, grdb]),
    layer(
        "SQLRecordStore",
        on: [
            "RecordStore", "Records", grdb, grdbSQLite, logging,
            .target(name: "CPostgreSQL", condition: .when(traits: ["PostgreSQL"])),
        ]),
    layer(
        "RemoteRecordStore",
        on: [
            "Accounts", "AssetStore", "CloudKitClient", "RecordStore", "Records",
            asyncHTTPClient, logging, nioCore, nioHTTP1, nioSSL,
        ]),
    layer("RemoteRecords", on: ["CloudKitClient", "Records", grdb, nioCore, nioPosix]),
    layer(
        "DataTransfer",
        on: [
            "AssetStore", "CloudKitClient", "RecordStore", "Records", "CEmbeddedFiles", "CZlib", crypto, nioCore,
            nioPosix,
        ]),
    layer(
        "HTTPServing",
        on: [
            "Accounts", "AssetStore", "Records", "CSystemCalls",
            crypto, hummingbird, hummingbirdCore, hummingbirdTLS, httpTypes, logging, nioCore, nioHTTP1, nioPosix,
            nioSSL, nioTLS, serviceLifecycle, swiftASN1,
        ]),
    layer(
        "WebServices",
        on: [
            "HTTPServing", "Accounts", "AssetStore", "RequestLog", "CloudKitClient", "RecordStore", "Records",
            "CEmbeddedFiles", hummingbird, httpTypes, logging, nioCore, serviceLifecycle,
        ]),
    // For the tests of apps
    layer(
        "SkylightTesting",
        on: [
            "LoopbackServing", "RemoteRecords", "CloudKitClient", "WebServices", "HTTPServing", "Accounts",
            "AssetStore", "SQLRecordStore", "RecordStore", "Records", logging,
        ]),
    layer(
        "Console",
        on: [
            "RemoteRecordStore", "HTTPServing", "Accounts", "AssetStore", "RequestLog", "RecordStore", "Records",
            "CEmbeddedFiles", hummingbird, httpTypes, mustache, nioCore,
        ]),
    // Pages, in modules that compile side by side
    layer(
        "RecordPages",
        on: [
            "Console", "DataTransfer", "RemoteRecordStore", "CloudKitClient", "HTTPServing", "Accounts", "AssetStore",
            "RecordStore", "Records", hummingbird, httpTypes, mustache, nioCore,
        ]),
    layer(
        "TrafficPages",
        on: [
            "Console", "RemoteRecordStore", "HTTPServing", "Accounts", "AssetStore", "RequestLog", "RecordStore",
            "Records", hummingbird, httpTypes, nioCore,
        ]),
    layer(
        "AdminPages",
        on: [
            "Console", "DataTransfer", "RemoteRecordStore", "CloudKitClient", "HTTPServing", "Accounts", "AssetStore",
            "RequestLog", "RecordStore", "Records", hummingbird, httpTypes, nioCore,
        ]),
    layer(
        "ConsolePages",
        on: [
            "RecordPages", "TrafficPages", "AdminPages", "Console", "DataTransfer", "HTTPServing", "RequestLog",
            "Records",
            hummingbird,
        ]),
    program(
        "skylight",
        on: [
            "ConsolePages", "Console", "WebServices", "HTTPServing", "DataTransfer", "Accounts", "AssetStore",
            "SQLRecordStore", "RemoteRecordStore", "CloudKitClient", "RequestLog", "RecordStore", "Records",
            "CSystemCalls", argumentParser, hummingbird, hummingbirdCore, httpTypes, logging, nioCore,
            serviceLifecycle, unixSignals,
        ]),
]

// MARK: - Tests, layer by layer

package.targets += [
    .target(name: "TestDisk", path: "Tests/TestDisk"),
    support("TestSupport", on: ["TestDisk", "Records", logging]),
    support("InMemoryRecordStore", on: ["RecordStore", "Records"]),
    support("StoreScenarios", on: ["TestSupport", "RecordStore", "Records"]),
    support("TestStores", on: ["TestSupport", "SQLRecordStore", "RecordStore", "Records", logging]),
    support(
        "LoopbackServing",
        on: ["HTTPServing", hummingbird, hummingbirdCore, logging, nioCore, nioPosix, serviceLifecycle]),
    tests("RecordsTests", of: ["TestSupport", "Records", "JSON"]),
    tests("RecordStoreTests", of: ["InMemoryRecordStore", "StoreScenarios", "RecordStore", "Records"]),
    tests(
        "CloudKitClientTests",
        of: [
            "InMemoryRecordStore", "TestSupport", "LoopbackServing", "CloudKitClient", "WebServices", "HTTPServing",
            "Accounts", "AssetStore", "RecordStore", "Records", crypto, logging, nioCore,
        ]),
    tests("RequestLogTests", of: ["TestSupport", "RequestLog", "RecordStore", "Records"]),
    tests(
        "AssetStoreTests",
        of: [
            "StoreScenarios", "TestSupport", "AssetStore", "SQLRecordStore", "RecordStore", "Records", crypto, nioCore,
        ]),
    tests("AccountsTests", of: ["TestSupport", "Accounts", "Records", crypto, grdb]),
    tests(
        "SQLRecordStoreTests",
        of: [
            "InMemoryRecordStore", "StoreScenarios", "TestStores", "TestSupport", "SQLRecordStore", "RecordStore",
            "Records", grdb, grdbSQLite, logging,
        ]),
    tests(
        "RemoteRecordStoreTests",
        of: [
            "InMemoryRecordStore", "StoreScenarios", "TestSupport", "LoopbackServing", "RemoteRecordStore",
            "CloudKitClient", "WebServices", "HTTPServing", "Accounts", "AssetStore", "SQLRecordStore", "RecordStore",
            "Records", crypto, hummingbird, nioCore,
        ]),
    tests(
        "RemoteRecordsTests",
        of: [
            "SkylightTesting", "TestSupport", "LoopbackServing", "RemoteRecords", "CloudKitClient", "RecordStore",
            "Records", grdb, logging,
        ]),
    tests(
        "DataTransferTests",
        of: [
            "InMemoryRecordStore", "TestSupport", "LoopbackServing", "DataTransfer", "CloudKitClient", "WebServices",
            "HTTPServing", "Accounts", "AssetStore", "SQLRecordStore", "RecordStore", "Records", crypto, hummingbird,
            logging, nioCore,
        ]),
    tests(
        "HTTPServingTests",
        of: [
            "TestSupport", "LoopbackServing", "HTTPServing", "Accounts", "Records", "CZlib", hummingbird, httpTypes,
            logging, nioCore, nioEmbedded, nioPosix, nioSSL, serviceLifecycle,
        ]),
    tests(
        "WebServicesTests",
        of: [
            "InMemoryRecordStore", "TestStores", "TestSupport", "LoopbackServing", "WebServices", "HTTPServing",
            "Accounts", "AssetStore", "RequestLog", "SQLRecordStore", "RecordStore", "Records", crypto, hummingbird,
            httpTypes, logging, nioCore, nioPosix, serviceLifecycle,
        ]),
    tests("SkylightTestingTests", of: ["SkylightTesting", "TestSupport", "RemoteRecords", "RecordStore", "Records"]),
    tests(
        "ConsoleTests",
        of: [
            "InMemoryRecordStore", "StoreScenarios", "TestStores", "TestSupport", "LoopbackServing", "DataTransfer",
            "ConsolePages", "RecordPages", "TrafficPages", "AdminPages", "Console", "WebServices", "RemoteRecordStore",
            "CloudKitClient", "HTTPServing", "Accounts", "AssetStore", "RequestLog", "SQLRecordStore", "RecordStore",
            "Records", crypto, hummingbird, hummingbirdTesting, httpTypes, logging, nioCore,
        ]),
    tests(
        "CommandLineTests",
        of: [
            "TestSupport", "LoopbackServing", "skylight", "HTTPServing", "Accounts", "AssetStore",
            "RemoteRecordStore", "CloudKitClient", "RecordStore", "Records", crypto, grdb, hummingbird, httpTypes,
            logging, nioCore, nioEmbedded,
        ]),
]

// `make check` and `make test` build and run the examples. No other build has them.
if Context.environment["SKYLIGHT_EXAMPLES"] != nil {
    package.targets += [
        .target(
            name: "ExampleSupport", dependencies: ["RemoteRecords"], path: "Examples/Support",
            swiftSettings: swiftSettings),
        program("todo-list", at: "Examples/TodoList", on: ["ExampleSupport", "RemoteRecords"]),
        program("container-backup", at: "Examples/ContainerBackup", on: ["ExampleSupport", "RemoteRecords"]),
        program("shopping-list", at: "Examples/ShoppingList", on: ["ExampleSupport", "RemoteRecords"]),
        tests(
            "ExamplesTests",
            of: [
                "todo-list", "container-backup", "shopping-list", "SkylightTesting", "TestSupport", "LoopbackServing",
                "RemoteRecords", "RecordStore", "Records",
            ]),
    ]
}

// `make bench` measures the store with these. No other build has them.
if Context.environment["SKYLIGHT_BENCHMARKS"] != nil {
    package.targets += [
        .target(name: "BenchmarkRecords", path: "Benchmarks/BenchmarkRecords"),
        program(
            "skylight-benchmarks", at: "Benchmarks/SkylightBenchmarks",
            on: ["BenchmarkRecords", "Accounts", "SQLRecordStore", "RecordStore", "Records", argumentParser]),
        program(
            "floor-servers", at: "Benchmarks/FloorServers",
            on: [argumentParser, hummingbird, hummingbirdCore, httpTypes, logging, nioCore, nioHTTP1, nioPosix]),
        program("bootstrap-benchmark", at: "Benchmarks/Bootstrap", on: ["RemoteRecords", argumentParser, logging]),
    ]
}
