import CloudKitClient
import InMemoryRecordStore
import LoopbackServing
import RecordStore
import Records
import TestSupport
import Testing

@testable import DataTransfer

/// Mirrors of public databases, which have no feed.
@Suite struct TypePullTests {
    /// An origin whose public database has a type with the indexes that a mirror needs, and a mirror of it.
    private static func run(
        indexed: Bool = true, _ body: @Sendable (Origin, Copy, any RecordDatabase) async throws -> Void
    ) async throws {
        try await Origin.run { origin in
            let database = try await origin.database(.public)
            for number in 0..<12 {
                try await database.save(Name("p\(number)"), in: .default, ["number": .int64(Int64(number))])
            }
            if indexed {
                _ = try await database.require(.editSchema).edit([
                    .addIndexes([.queryable, .sortable], of: .system(.modTime), in: "Item"),
                    .addIndexes(.queryable, of: .system(.recordID), in: "Item"),
                ])
            }
            var copy = try Copy(of: origin, in: InMemoryRecordEngine(), pageSize: 5)
            copy.options.scopes = [.public]
            copy.options.publicTypes = ["Item"]
            copy.options.sweepInterval = .zero
            try await body(origin, copy, database)
        }
    }

    @Test func savesAndDeletionsReachTheMirror() async throws {
        try await Self.run { _, copy, origin in
            let first = try await copy.pull()
            #expect(first.problems.isEmpty && first.outcome.saved == 12)
            try await copy.expectEqual(.public)
            for number in 0..<3 { try await origin.save(Name("p\(number)"), in: .default, ["number": .int64(-1)]) }
            for number in 3..<6 { try await origin.remove(Name("p\(number)"), in: .default) }
            try await origin.save("p99", in: .default, ["number": .int64(99)])
            let second = try await copy.pull()
            #expect(second.outcome.saved == 4 && second.outcome.deleted == 3)
            try await copy.expectEqual(.public)
        }
    }

    @Test func deletionsWaitForTheNextComparison() async throws {
        try await Self.run { _, copy, origin in
            var copy = copy
            try await copy.pull()
            try await origin.remove("p0", in: .default)
            copy.options.sweepInterval = .seconds(3600)
            #expect(try await copy.pull().outcome.deleted == 0)
            copy.options.sweepInterval = .zero
            #expect(try await copy.pull().outcome.deleted == 1)
            try await copy.expectEqual(.public)
        }
    }

    @Test func aLaterPullReadsFromALittleBeforeTheLatestChange() async throws {
        try await Self.run { _, copy, origin in
            var copy = copy
            copy.options.sweepInterval = .seconds(3600)
            copy.options.overlap = .zero
            try await copy.pull()
            try await origin.save("p0", in: .default, ["number": .int64(-1)])
            let report = try await copy.pull()
            // Records of the latest moment are read again, the others are not.
            #expect(report.outcome.saved == 1)
            try await copy.expectEqual(.public)
        }
    }

    @Test func aTypeWithoutTheIndexesIsNamedWithThem() async throws {
        try await Self.run(indexed: false) { _, copy, _ in
            let problems = try await copy.pull().problems
            guard case .missingIndexes(let type, _, let indexes, let reason)? = problems.first, problems.count == 1
            else {
                Issue.record("\(problems)")
                return
            }
            #expect(
                type == "Item" && indexes == ["modifiedTimestamp QUERYABLE", "modifiedTimestamp SORTABLE"]
                    && reason.contains("not marked"))
        }
    }

    @Test func aTypeThatThereIsNotIsNamed() async throws {
        try await Self.run { _, copy, _ in
            var copy = copy
            copy.options.publicTypes = ["Item", "Nothing"]
            let report = try await copy.pull()
            #expect(report.problems == [.unknownType("Nothing")] && report.outcome.saved == 12)
        }
    }

    @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8])
    func aPullThatStopsAnywhereGoesOn(number: Int) async throws {
        try await Self.run { origin, copy, database in
            try await copy.pull()
            for number in 0..<12 { try await database.save(Name("p\(number)"), in: .default, ["number": .int64(-1)]) }
            try await database.remove("p7", in: .default)
            try await BreakingProxy.run(to: origin.port, .stopBeforeAnswer(number)) { port, _ in
                do { try await copy.pull(through: port) } catch is CloudKitFailure {}
            }
            try await copy.pull()
            try await copy.expectEqual(.public)
        }
    }

    @Test(arguments: BreakingProxy.Message.allCases, BreakingProxy.Part.allCases)
    func aMirrorWhoseConnectionsBreakEndsEqual(message: BreakingProxy.Message, part: BreakingProxy.Part) async throws {
        try await Self.run { origin, copy, database in
            try await BreakingProxy.run(to: origin.port, .breakEvery(3, message, part)) { port, proxy in
                for round in 0..<4 {
                    for number in 0..<12 {
                        try await database.save(Name("p\(number)"), in: .default, ["number": .int64(Int64(-round))])
                    }
                    try await database.remove(Name("p\(round)"), in: .default)
                    #expect(try await copy.pull(through: port).problems.isEmpty)
                    try await copy.expectEqual(.public)
                }
                #expect(proxy.breaks >= 4)
            }
        }
    }

    /// The index does not know the latest three seconds. Records that it does not give are not taken for deleted.
    @Test func anIndexThatLagsHidesRecordsForAMoment() async throws {
        try await Self.run { origin, copy, database in
            try origin.inject(.laggingIndex)
            #expect(try await copy.pull().outcome.saved == 0)
            origin.advance(by: 4)
            #expect(try await copy.pull().outcome.saved == 12)
            try await copy.expectEqual(.public)
            for number in 0..<3 { try await database.save(Name("p\(number)"), in: .default, ["number": .int64(-1)]) }
            try await database.remove("p5", in: .default)
            try await database.save("late", in: .default)
            let lagging = try await copy.pull()
            #expect(lagging.outcome.saved == 0 && lagging.outcome.deleted == 1)
            origin.advance(by: 4)
            #expect(try await copy.pull().outcome.saved == 4)
            try await copy.expectEqual(.public)
        }
    }

    // MARK: Schema

    @Test func theSchemaComesFromTheFileAndFromRecords() async throws {
        try await Self.run { _, copy, _ in
            var copy = copy
            copy.options.schema = try Schema(
                text: "DEFINE SCHEMA RECORD TYPE Unused ( title STRING, file ASSET ); RECORD TYPE Item ( text STRING );"
            )
            let report = try await copy.pull()
            #expect(
                report.problems.contains {
                    if case .missingIndexes("Unused", _, _, _) = $0 { true } else { $0 == .unknownType("Unused") }
                })
            let schema = try await copy.database(.public).require(.showSchema).schema()
            #expect(
                schema.types["Unused"]?.fields["file"]?.type == .asset
                    && schema.types["Item"]?.fields["number"]?.type == .int64)
            // Any question can be asked.
            let found = try await copy.database(.public).query(
                QueryRequest(Query(recordType: "Item", filters: [.init("number", .equals, FieldInput(.int64(7)))])))
            #expect(found.records.map(\.recordID.recordName) == ["p7"])
            let evidence = try await copy.mirror { try await $0.schemaEvidence() }
            #expect(
                evidence.types["Unused"] == .init(source: .declared, fields: ["title": .declared, "file": .declared]))
            #expect(
                evidence.types["Item"] == .init(source: .declared, fields: ["text": .declared, "number": .observed]))
            #expect(!evidence.isComplete)
        }
    }
}
