// swift-tools-version:6.1
import PackageDescription

// The targets, layer by layer. A target imports only the targets on its dependency line.
// docs/architecture.md describes each layer.

let swiftSettings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

func layer(_ name: String, on dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: swiftSettings)
}

// Tests are built in the server's own configuration, a release. Unoptimised, they compile in a quarter of the time. Packages that depend on this one
// do not build tests, so the flag does not keep them from it.
func tests(_ name: String, of dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: swiftSettings + [.unsafeFlags(["-Onone"])])
}

// Stores in PostgreSQL need its client library, libpq. On macOS it is not there by itself: brew install libpq, and build with --traits PostgreSQL.
var traits: Set<Trait> = [.trait(name: "PostgreSQL", description: "Keeps records in PostgreSQL, if asked to")]
#if os(Linux)
    traits.insert(.default(enabledTraits: ["PostgreSQL"]))
#endif

let package = Package(
    name: "skylight",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "skylight", targets: ["skylight"]),
        // With the modules whose types its programs use. None of them belongs to the server.
        .library(name: "RemoteRecords", targets: ["RemoteRecords", "CloudKitClient", "Records", "JSON"]),
        // For the tests of such programs: a server within the test.
        .library(name: "SkylightTesting", targets: ["SkylightTesting", "RecordStore"]),
    ],
    traits: traits,
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
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
    ],
    targets: [
        // 1
        layer("Text"),
        layer("JSON", on: ["Text"]),
        // 2
        layer("Records", on: ["JSON", "Text"]),
        // 3
        layer("RecordStore", on: ["Records", "JSON", "Text", .product(name: "Crypto", package: "swift-crypto")]),
        layer("Traffic", on: ["Records", "JSON", "Text"]),
        layer("Workbench", on: ["RecordStore", "Records", "JSON", "Text"]),
        layer(
            "CloudKitClient",
            on: [
                "Records", "JSON", "Text",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]
        ),
        // 4
        .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
        layer(
            "SQLRecordStore",
            on: [
                "RecordStore", "Records", "JSON", "Text",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
                .target(name: "CPostgreSQL", condition: .when(traits: ["PostgreSQL"])),
            ]
        ),
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
        layer("Gzip", on: ["CZlib", .product(name: "NIOCore", package: "swift-nio")]),
        .systemLibrary(name: "CCachedReading"),
        .systemLibrary(name: "CMalloc"),
        layer("CEmbeddedFiles"),
        layer(
            "AssetStore",
            on: [
                "RecordStore", "Records", "JSON", "Text", "CCachedReading", "Gzip",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]
        ),
        layer(
            "Accounts",
            on: [
                "Records", "JSON", "Text",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ]
        ),
        layer(
            "RemoteRecordStore",
            on: [
                "Accounts", "AssetStore", "CloudKitClient", "RecordStore", "Records", "JSON", "Text",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]
        ),
        layer(
            "CloudKitRecordStore",
            on: [
                "Accounts", "CloudKitClient", "RecordStore", "Records", "JSON", "Text",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
            ]
        ),
        layer(
            "RemoteRecords",
            on: [
                "CloudKitClient", "Records", "JSON",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]
        ),
        // 5
        layer(
            "DataTransfer",
            on: [
                "AssetStore", "RecordStore", "Records", "JSON", "Text", "CZlib",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]
        ),
        layer(
            "Mirroring",
            on: [
                "CloudKitClient", "AssetStore", "RecordStore", "Records", "JSON",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]
        ),
        layer(
            "HTTPServing",
            on: [
                "Accounts", "Records", "JSON", "Text", "CCachedReading", "Gzip",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HummingbirdTLS", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]
        ),
        // 6
        layer(
            "WebServices",
            on: [
                "CEmbeddedFiles", "HTTPServing", "Accounts", "AssetStore", "Traffic", "RecordStore", "Records", "JSON", "Text",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]
        ),
        layer(
            "Console",
            on: [
                "CEmbeddedFiles", "CloudKitRecordStore", "HTTPServing", "Accounts", "AssetStore", "Traffic", "Workbench", "RecordStore", "Records", "JSON", "Text",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Mustache", package: "swift-mustache"),
                .product(name: "NIOCore", package: "swift-nio"),
            ]
        ),
        // 7: for the tests of apps
        layer(
            "SkylightTesting",
            on: [
                "LoopbackServing", "RemoteRecords", "CloudKitClient", "WebServices", "HTTPServing", "Accounts", "AssetStore", "SQLRecordStore", "RecordStore",
                "Records", "JSON",
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        // 7: modules that compile side by side
        layer(
            "RecordPages",
            on: [
                "Console", "Mirroring", "CloudKitRecordStore", "CloudKitClient", "DataTransfer", "HTTPServing", "Accounts", "AssetStore", "RecordStore", "Records", "JSON", "Text",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Mustache", package: "swift-mustache"),
                .product(name: "NIOCore", package: "swift-nio"),
            ]
        ),
        layer(
            "TrafficPages",
            on: [
                "Console", "CloudKitRecordStore", "HTTPServing", "Accounts", "AssetStore", "Traffic", "Workbench", "RecordStore", "Records", "JSON", "Text",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
            ]
        ),
        layer(
            "AdminPages",
            on: [
                "Console", "CloudKitRecordStore", "CloudKitClient", "DataTransfer", "HTTPServing", "Accounts", "AssetStore", "Traffic", "RecordStore", "Records", "JSON", "Text",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
            ]
        ),
        // 8
        layer(
            "ConsolePages",
            on: ["RecordPages", "TrafficPages", "AdminPages", "Console", "HTTPServing", .product(name: "Hummingbird", package: "hummingbird")]
        ),
        // 9
        .executableTarget(
            name: "skylight",
            dependencies: [
                "ConsolePages", "Console", "WebServices", "HTTPServing", "DataTransfer", "Mirroring", "Accounts", "AssetStore", "SQLRecordStore", "RemoteRecordStore",
                "CloudKitRecordStore", "CloudKitClient", "Traffic", "Workbench", "RecordStore", "Records", "JSON", "Text", "CMalloc",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: swiftSettings
        ),
        // Tests, layer by layer
        tests("TextTests", of: ["Text"]),
        tests("JSONTests", of: ["JSON"]),
        tests("RecordsTests", of: ["TestSupport", "Records", "JSON"]),
        tests("TrafficTests", of: ["TestSupport", "Traffic", "Records", "JSON"]),
        tests("WorkbenchTests", of: ["Workbench", "RecordStore", "Records", "JSON"]),
        tests(
            "CloudKitClientTests",
            of: [
                "InMemoryRecordStore", "TestSupport", "LoopbackServing", "CloudKitClient", "WebServices", "HTTPServing", "Accounts", "AssetStore", "RecordStore", "Records", "JSON",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
            ]
        ),
        tests(
            "CloudKitRecordStoreTests",
            of: [
                "InMemoryRecordStore", "StoreScenarios", "TestSupport", "LoopbackServing", "CloudKitRecordStore", "CloudKitClient", "WebServices", "HTTPServing", "Accounts", "AssetStore",
                "SQLRecordStore", "RecordStore", "Records", "JSON",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
            ]
        ),
        tests(
            "RemoteRecordsTests",
            of: [
                "SkylightTesting", "TestSupport", "LoopbackServing", "RemoteRecords", "CloudKitClient", "RecordStore", "Records", "JSON",
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        tests("SkylightTestingTests", of: ["SkylightTesting", "TestSupport", "RemoteRecords", "RecordStore", "Records", "JSON"]),
        tests(
            "MirroringTests",
            of: [
                "InMemoryRecordStore", "TestSupport", "LoopbackServing", "Mirroring", "CloudKitClient", "WebServices", "HTTPServing", "Accounts", "AssetStore", "SQLRecordStore",
                "RecordStore", "Records", "JSON",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
            ]
        ),
        tests("RecordStoreTests", of: ["InMemoryRecordStore", "StoreScenarios", "RecordStore", "Records", "JSON"]),
        tests(
            "SQLRecordStoreTests",
            of: [
                "InMemoryRecordStore", "StoreScenarios", "TestStores", "TestSupport", "SQLRecordStore", "RecordStore", "Records", "JSON",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        tests(
            "RemoteRecordStoreTests",
            of: [
                "InMemoryRecordStore", "StoreScenarios", "TestSupport", "LoopbackServing", "RemoteRecordStore", "WebServices", "HTTPServing", "Accounts", "AssetStore", "SQLRecordStore", "RecordStore",
                "Records", "JSON",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
            ]
        ),
        tests(
            "AssetStoreTests",
            of: [
                "InMemoryRecordStore", "StoreScenarios", "TestSupport", "AssetStore", "SQLRecordStore", "RecordStore", "Records", "JSON", "Gzip",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
            ]
        ),
        tests(
            "HTTPServingTests",
            of: [
                "TestSupport", "LoopbackServing", "HTTPServing", "Accounts", "Records", "JSON", "CZlib",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]
        ),
        .target(name: "TestDisk", path: "Tests/TestDisk"),
        .target(
            name: "LoopbackServing",
            dependencies: [
                "HTTPServing",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            path: "Tests/LoopbackServing", swiftSettings: swiftSettings),
        .target(name: "TestSupport", dependencies: ["TestDisk", "Records"], path: "Tests/TestSupport", swiftSettings: swiftSettings),
        .target(
            name: "InMemoryRecordStore", dependencies: ["RecordStore", "Records", "JSON"], path: "Tests/InMemoryRecordStore", swiftSettings: swiftSettings),
        .target(
            name: "TestStores", dependencies: ["SQLRecordStore", "RecordStore", "Records", .product(name: "Logging", package: "swift-log")], path: "Tests/TestStores",
            swiftSettings: swiftSettings),
        .target(
            name: "StoreScenarios", dependencies: ["TestSupport", "RecordStore", "Records", "JSON"], path: "Tests/StoreScenarios", swiftSettings: swiftSettings),
        tests(
            "AccountsTests",
            of: [
                "TestSupport", "Accounts", "Records", "JSON",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ]
        ),
        tests(
            "WebServicesTests",
            of: [
                "InMemoryRecordStore", "TestStores", "TestSupport", "LoopbackServing", "WebServices", "HTTPServing", "Accounts", "AssetStore", "Traffic", "SQLRecordStore", "RecordStore", "Records", "JSON", "Text",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]
        ),
        tests(
            "DataTransferTests",
            of: [
                "InMemoryRecordStore", "TestSupport", "DataTransfer", "AssetStore", "SQLRecordStore", "RecordStore", "Records", "JSON",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
            ]
        ),
        tests(
            "ConsoleTests",
            of: [
                "InMemoryRecordStore", "StoreScenarios", "TestSupport", "LoopbackServing", "DataTransfer", "ConsolePages", "RecordPages", "TrafficPages", "AdminPages", "Console", "WebServices", "CloudKitRecordStore",
                "CloudKitClient", "HTTPServing", "Accounts", "AssetStore", "Traffic", "RecordStore", "Records", "JSON", "Text",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
            ]
        ),
        tests(
            "CommandLineTests",
            of: [
                "TestSupport", "LoopbackServing", "skylight", "HTTPServing", "Accounts", "AssetStore", "CloudKitRecordStore", "CloudKitClient", "RecordStore", "Records", "JSON",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
            ]
        ),
    ]
)

// `make check` and `make test` build and run the examples. No other build has them.
if Context.environment["SKYLIGHT_EXAMPLES"] != nil {
    package.targets += [
        .target(
            name: "ExampleSupport", dependencies: ["RemoteRecords", .product(name: "Logging", package: "swift-log")], path: "Examples/Support",
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "todo-list", dependencies: ["ExampleSupport", "RemoteRecords"], path: "Examples/TodoList", swiftSettings: swiftSettings),
        .executableTarget(
            name: "container-backup", dependencies: ["ExampleSupport", "RemoteRecords"], path: "Examples/ContainerBackup", swiftSettings: swiftSettings),
        .executableTarget(
            name: "shopping-list", dependencies: ["ExampleSupport", "RemoteRecords"], path: "Examples/ShoppingList", swiftSettings: swiftSettings),
        tests(
            "ExamplesTests",
            of: [
                "todo-list", "container-backup", "shopping-list", "SkylightTesting", "TestSupport", "LoopbackServing", "RemoteRecords", "RecordStore", "Records", "JSON",
            ]),
    ]
}

// `make bench` measures the store with these. No other build has them.
if Context.environment["SKYLIGHT_BENCHMARKS"] != nil {
    package.targets += [
        .target(name: "BenchmarkRecords", path: "Benchmarks/BenchmarkRecords"),
        .executableTarget(
            name: "skylight-benchmarks",
            dependencies: [
                "BenchmarkRecords", "Accounts", "SQLRecordStore", "RecordStore", "Records", "JSON",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Benchmarks/SkylightBenchmarks",
            swiftSettings: swiftSettings
        ),
        .executableTarget(
            name: "bootstrap-benchmark",
            dependencies: [
                "RemoteRecords",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Benchmarks/Bootstrap",
            swiftSettings: swiftSettings
        ),
    ]
}
