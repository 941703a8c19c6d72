import Foundation
import RecordStore
import Records
import StoreScenarios
import TestSupport

@testable import SQLRecordStore

let crashZone = ZoneID(zoneName: "Crash")

/// The requests of savers and their answers, for checking a store after a crash.
struct CrashWorkload {
    /// A record as its saver knows it: its number, and the acknowledged tag.
    struct Saved: Equatable {
        var number: Int64
        /// `nil` until the save is acknowledged.
        var tag: String?
    }

    typealias Records = [Name: Saved]

    /// A request of a saver, which waits for each answer.
    struct Request {
        /// All records of the saver after the request.
        var after: Records
        /// The number of disk calls when the answer arrived; `nil` if the request was refused.
        var acknowledgedAt: Int?
        var refusal: RecordError?
    }

    /// A completed pull.
    struct Pull {
        var at: Int
        var token: ChangeToken
        var records: Records
    }

    /// The requests of each saver, by its name prefix.
    var savers: [String: [Request]] = [:]
    var pulls: [Pull] = []
    /// The number of disk calls when the creation of the zone was acknowledged.
    var zoneMadeAt: Int?
    /// All errors except the expected conflicts.
    var refusals: [RecordError] = []

    /// Runs savers and a puller in parallel against a store that is opened and closed several times.
    /// - Parameters:
    ///   - prepare: called with each engine before it is used.
    ///   - inspect: called with each database when its savers are done.
    ///   - requests: the number per saver and opening.
    ///   - editsSchema: true to add and drop indexes, and to remove a type with its records, in parallel.
    static func run(
        in folder: URL, on disk: WatchedFolder, seed: UInt64, savers: Int = 4, requests: Int = 12, openings: Int = 2,
        logLimits: WriteAheadLogLimits = WriteAheadLogLimits(checkpoint: 60, restart: 90), editsSchema: Bool = false,
        prepare: (SQLRecordEngine) async throws -> Void = { _ in },
        inspect: (SQLRecordEngine, any RecordDatabase) async throws -> Void = { _, _ in }
    ) async throws -> CrashWorkload {
        var workload = CrashWorkload()
        for opening in 0..<openings {
            let engine = try SQLRecordEngine(
                folder: folder, logLimits: logLimits,
                // Small steps make index work on few records last long.
                indexLimits: editsSchema
                    ? IndexLimits(recordsAtOnce: 0, recordsInChunk: 5, rowsInStep: 2) : IndexLimits(),
                clock: Timestamp.now)
            try await prepare(engine)
            do {
                let database = try await engine.full(.private)
                for outcome in try await database.modifyZones([.create(crashZone)]) { _ = try outcome.get() }
                workload.zoneMadeAt = workload.zoneMadeAt ?? disk.events
                try await workload.load(
                    database, disk, seed: seed &+ UInt64(opening) &* 1000, savers: savers, requests: requests,
                    editsSchema: editsSchema)
                try await inspect(engine, database)
            } catch {
                workload.refusals.append(
                    error as? RecordError ?? RecordError(.internalError, "not a RecordError: \(error)"))
            }
            await engine.close()
        }
        return workload
    }

    private mutating func load(
        _ database: any RecordDatabase, _ disk: WatchedFolder, seed: UInt64, savers: Int, requests: Int,
        editsSchema: Bool
    ) async throws {
        let earlier = self.savers
        let lastPull = pulls.last
        try await withThrowingTaskGroup(of: Part.self) { group in
            for number in 0..<savers {
                group.addTask {
                    let prefix = "s\(number)."
                    var saver = CrashSaver(
                        prefix: prefix, records: earlier[prefix]?.last { $0.acknowledgedAt != nil }?.after ?? [:],
                        seed: seed &+ UInt64(number))
                    for _ in 0..<requests { await saver.act(on: database, disk) }
                    return .saver(prefix, saver.requests, saver.refusals)
                }
            }
            group.addTask {
                var pulls: [Pull] = []
                var pull = lastPull ?? Pull(at: 0, token: ChangeToken(bytes: []), records: [:])
                for _ in 0..<requests {
                    guard let next = try? await Self.pull(database, after: pull) else { continue }
                    pull = next
                    pull.at = disk.events
                    pulls.append(pull)
                    try await Task.sleep(for: .milliseconds(2))
                }
                return .puller(pulls)
            }
            if editsSchema {
                group.addTask { .editor(await Self.editSchema(database, seed: seed, times: requests)) }
            }
            for try await part in group {
                switch part {
                case .saver(let prefix, let requests, let refusals):
                    self.savers[prefix, default: []] += requests
                    self.refusals += refusals
                case .puller(let pulls): self.pulls += pulls
                case .editor(let refusals): self.refusals += refusals
                }
            }
        }
    }

    private enum Part: Sendable {
        case saver(String, [Request], [RecordError])
        case puller([Pull])
        case editor([RecordError])
    }

    /// Adds and drops indexes of the savers' fields, and removes a type that the savers do not use.
    /// - Returns: the errors.
    private static func editSchema(_ database: any RecordDatabase, seed: UInt64, times: Int) async -> [RecordError] {
        var random = SeededRandom(seed: seed &+ 77)
        var refusals: [RecordError] = []
        for turn in 0..<times {
            let (text, number): (Indexes, Indexes) = (
                [[], .queryable, [.queryable, .searchable]].randomElement(using: &random) ?? [],
                Bool.random(using: &random) ? .sortable : []
            )
            let composite = CompositeIndex(filter: .custom("text"), sort: .custom("number"))
            let waits = Int.random(in: 0..<4, using: &random) == 0
            do {
                _ = try await database.require(.editSchema).edit(
                    [
                        .addType(
                            RecordType(
                                name: "Item",
                                fields: [
                                    "text": FieldDefinition(type: .string), "number": FieldDefinition(type: .int64),
                                ])),
                        .setIndexes(text, of: .custom("text"), in: "Item"),
                        .setIndexes(number, of: .custom("number"), in: "Item"),
                        .addCompositeIndex(composite, in: "Item"),
                    ], because: .edit, waitingForIndexes: waits)
                if turn % 3 == 0 {
                    try await database.edit(.removeCompositeIndex(composite, in: "Item"))
                }
                try await database.save(
                    "aside\(turn)" as Name, type: "Aside", in: ZoneID.default, ["text": .string("x")])
                if turn % 3 == 1 {
                    try await database.edit(.removeField("text", in: "Aside"))
                }
                if turn % 3 == 2 { try await database.edit(.removeType("Aside")) }
            } catch {
                refusals.append(error as? RecordError ?? RecordError(.internalError, "not a RecordError: \(error)"))
            }
        }
        return refusals
    }

    /// Updates a client's copy of the zone.
    static func pull(_ database: any RecordDatabase, after last: Pull) async throws -> Pull {
        var pull = last
        let found = try await database.pull(crashZone, since: last.token.bytes.isEmpty ? nil : last.token, pageSize: 7)
        for change in found.changes {
            pull.records[change.recordID.recordName] =
                change.kind == .deleted ? nil : try change.record.map { try Saved($0) }
        }
        pull.token = found.token
        return pull
    }
}

extension CrashWorkload.Saved {
    init(_ record: StoredRecord) throws {
        guard case .int64(let number)? = try record.fields.values(of: ["number"])["number"] else {
            throw RecordError(.internalError, "\(record.recordID.recordName) has no number")
        }
        self.init(number: number, tag: record.recordChangeTag)
    }
}

/// A saver with its own records, which waits for each answer.
struct CrashSaver {
    let prefix: String
    private(set) var records: CrashWorkload.Records
    private(set) var requests: [CrashWorkload.Request] = []
    private(set) var refusals: [RecordError] = []
    private var random: SeededRandom
    private var number: Int64

    init(prefix: String, records: CrashWorkload.Records, seed: UInt64) {
        self.prefix = prefix
        self.records = records
        random = SeededRandom(seed: seed)
        number = Int64(seed) &* 100_000
    }

    /// Saves, changes and deletes some records atomically, sometimes with a conflicting tag.
    mutating func act(on database: any RecordDatabase, _ disk: WatchedFolder) async {
        var after = records
        var operations: [RecordOperation] = []
        var isConflict = false
        let names = (0..<10).map { Name("\(prefix)é\($0)") }.shuffled(using: &random)
        for name in names.prefix(Bool.random(using: &random) ? 1 : Int.random(in: 2...6, using: &random)) {
            number += 1
            let known = records[name]
            switch Int.random(in: 0..<10, using: &random) {
            case 0:
                operations.append(RecordOperation(.forceDelete, recordName: name))
                after[name] = nil
            case 1 where known != nil:
                // The tag is outdated, so the whole batch must be refused.
                operations.append(
                    RecordOperation(
                        .update, recordName: name, recordType: "Item", recordChangeTag: "zzzzzzzz", fields: fields()))
                isConflict = true
            case 2...6 where known?.tag != nil:
                operations.append(
                    RecordOperation(
                        .update, recordName: name, recordType: "Item", recordChangeTag: known?.tag, fields: fields()))
                after[name] = CrashWorkload.Saved(number: number)
            default:
                operations.append(
                    RecordOperation(.forceReplace, recordName: name, recordType: "Item", fields: fields()))
                after[name] = CrashWorkload.Saved(number: number)
            }
        }
        if !isConflict { requests.append(CrashWorkload.Request(after: after)) }
        do {
            let outcomes = try await database.modify(ModifyRequest(operations, zoneID: crashZone))
            let at = disk.events
            if isConflict {
                if outcomes.contains(where: { (try? $0.get()) != nil }) {
                    refusals.append(RecordError(.internalError, "a conflict was not seen"))
                }
                return
            }
            for outcome in outcomes {
                if case .saved(let record) = try outcome.get() {
                    after[record.recordID.recordName]?.tag = record.recordChangeTag
                }
            }
            records = after
            requests[requests.count - 1] = CrashWorkload.Request(after: after, acknowledgedAt: at)
        } catch {
            let refusal = error as? RecordError ?? RecordError(.internalError, "not a RecordError: \(error)")
            refusals.append(refusal)
            if !isConflict { requests[requests.count - 1].refusal = refusal }
        }
    }

    private mutating func fields() -> [Name: FieldInput] {
        // Some records fill whole pages.
        let length = Int.random(in: 0..<6, using: &random) == 0 ? Int.random(in: 4000...20_000, using: &random) : 30
        return [
            "number": FieldInput(.int64(number)),
            "text": FieldInput(.string(String(repeating: "\(number) ", count: length / 8))),
        ]
    }
}
