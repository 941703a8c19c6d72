import Foundation
import Testing

/// Package.swift defines the layers. These tests check that the sources follow them.
@Suite struct LayerTests {
    private struct Target {
        let name: String
        let dependencies: Set<String>
    }

    /// The targets in the order of Package.swift, each with the targets of this package that it depends on.
    private func targets() throws -> [Target] {
        let plan = try String(contentsOf: Command.package.appending(path: "Package.swift"), encoding: .utf8)
        let layers = try #require(plan.range(of: "// MARK: - The layers")?.upperBound)
        let end = try #require(plan.range(of: "// MARK: - Tests")?.lowerBound)
        let entries = plan[layers..<end].matches(of: /(?:layer\(\s*|program\(\s*|\.systemLibrary\(\s*name: )"(\w+)"/)
        let ours = Set(entries.map { String($0.output.1) })
        return entries.enumerated().map { index, entry in
            // Products of other packages are constants; the quoted names are targets of this package.
            let next = index + 1 < entries.count ? entries[index + 1].range.lowerBound : end
            let line = plan[entry.range.upperBound..<next].replacing(/\/\/.*/, with: "")
            let names = line.matches(of: /"(\w+)"/).map { String($0.output.1) }
            return Target(name: String(entry.output.1), dependencies: Set(names).intersection(ours))
        }
    }

    /// - Returns: paths within the target's folder.
    private func sources(of target: String) throws -> [(path: String, text: String)] {
        let folder = Command.package.appending(path: "Sources/\(target)", directoryHint: .isDirectory)
        let paths = try #require(FileManager.default.enumerator(atPath: folder.path(percentEncoded: false))).compactMap
        { $0 as? String }
        return try paths.filter { $0.hasSuffix(".swift") }.map {
            ($0, try String(contentsOf: folder.appending(path: $0), encoding: .utf8))
        }
    }

    /// Regular expressions take seconds for all sources, so this is asked first.
    private static func mentions(_ word: String, _ text: some StringProtocol) -> Bool {
        text.withCString { strstr($0, word) != nil }
    }

    private func imports(of text: String) -> [String] {
        let lines = text.utf8.split(separator: UInt8(ascii: "\n")).map { Substring($0) }.filter {
            Self.mentions("import ", $0) || Self.mentions("\"\"\"", $0)
        }
        // Samples for users import what they like.
        return lines.joined(separator: "\n").replacing(/"""[\s\S]*?"""/, with: "").matches(
            of:
                /(?m)^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:public |package |internal |fileprivate |private )?import (?:\w+ )?(\w+)/
        ).map { String($0.output.1) }
    }

    @Test func thePlanNamesEveryTarget() throws {
        let names = try targets().map(\.name)
        #expect(names.first == "CZlib" && names.last == "skylight")
        let folders = try FileManager.default.contentsOfDirectory(
            atPath: Command.package.appending(path: "Sources").path(percentEncoded: false))
        #expect(Set(folders.filter { !$0.hasPrefix(".") }) == Set(names))
    }

    @Test func everyTargetImportsLowerOnes() throws {
        var below: Set<String> = []
        for target in try targets() {
            #expect(target.dependencies.isSubset(of: below), "\(target.name) depends on what stands above it")
            below.insert(target.name)
        }
    }

    /// These modules compile side by side, and a change in a page compiles one of them again.
    @Test func pagesDoNotDependOnOtherPages() throws {
        let pages: Set = ["RecordPages", "TrafficPages", "AdminPages"]
        let targets = try targets().filter { pages.contains($0.name) }
        #expect(targets.count == pages.count)
        for target in targets {
            #expect(target.dependencies.isDisjoint(with: pages), "\(target.name) waits for other pages")
        }
    }

    /// Programs that use the library do not build the server.
    @Test func theLibraryForAppsImportsTheClientAlone() throws {
        let targets = try targets()
        var needed: Set = ["RemoteRecords"]
        for target in targets.reversed() where needed.contains(target.name) { needed.formUnion(target.dependencies) }
        #expect(needed == ["RemoteRecords", "CloudKitClient", "Records"])
    }

    @Test func noSourceImportsPastItsDependencyLine() throws {
        let targets = try targets()
        let ours = Set(targets.map(\.name))
        for target in targets {
            for source in try sources(of: target.name) {
                for module in imports(of: source.text) where ours.contains(module) {
                    #expect(
                        target.dependencies.contains(module),
                        "\(target.name)/\(source.path) imports \(module), which is not on its dependency line")
                }
            }
        }
    }

    /// Only the chapters on JSON in Records read and write it: Foundation's coders are slow, and do not distinguish 1
    /// from 1.0.
    @Test func nobodyUsesFoundationForJSON() throws {
        for target in try targets() {
            for source in try sources(of: target.name) {
                for coder in ["JSONSerialization", "JSONEncoder", "JSONDecoder"] {
                    #expect(!Self.mentions(coder, source.text), "\(target.name)/\(source.path)")
                }
            }
        }
    }

    /// The engine is written once for all databases; each driver knows one of them.
    @Test func onlyADriverKnowsItsDatabase() throws {
        let drivers = [
            "GRDB": "Drivers/SQLite/", "GRDBSQLite": "Drivers/SQLite/", "CPostgreSQL": "Drivers/PostgreSQL/",
        ]
        var found: Set<String> = []
        for source in try sources(of: "SQLRecordStore") {
            for module in imports(of: source.text) {
                guard let folder = drivers[module] else { continue }
                found.insert(module)
                #expect(
                    source.path.hasPrefix(folder),
                    "SQLRecordStore/\(source.path) imports \(module), which belongs to \(folder)")
            }
        }
        #expect(found == Set(drivers.keys), "A driver's library is no longer imported, or under another name")
    }

    /// Swift 6.3.1, optimising, loses an error that is thrown within `?? .someCase(a: try …, b: …)`, and goes on with an
    /// empty value.
    @Test func noCaseWithAThrowingValueStandsAfterTwoQuestionMarks() throws {
        for target in try targets() {
            for source in try sources(of: target.name) where Self.mentions("??", source.text) {
                #expect(!source.text.contains(/\?\?\s*\.\w+\([^)]*\btry\b/), "\(target.name)/\(source.path)")
            }
        }
    }

    @Test func theStorageInterfaceHasNoSQLAndNoHTTP() throws {
        for source in try sources(of: "RecordStore") {
            #expect(!source.text.contains(/import (GRDB|Hummingbird|HTTPTypes|NIO\w*)/), "RecordStore/\(source.path)")
        }
    }
}
