import Foundation
import GRDB
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore
@testable import TestStores

/// Invariants of every feed, which need no second engine as a reference.
@Suite struct FeedLawTests {
    private static let seeds = Chance.seeds(4)

    /// The state at a token plus the pull since then is the current state: for all tokens at all times, any page size,
    /// and both directions.
    @Test(arguments: seeds)
    func aStateAndThePullSinceAreTheStateNow(seed: UInt64) async throws {
        var history = try await FeedHistory(seed: seed)
        for step in 0..<45 {
            try await history.act()
            for moment in history.moments where moment.life == history.life {
                let changes = try await history.database.pull(FeedHistory.zone, since: moment.token).changes
                let context: Comment = "seed \(seed), step \(step), token of step \(moment.step)"
                #expect(moment.state.applying(changes) == history.state, context)
                for change in changes {
                    let wasThere = moment.state[change.recordID.recordName] != nil
                    if change.kind == .modified { #expect(wasThere, context) }
                    if change.kind == .created { #expect(!wasThere, context) }
                }
            }
            try await checkPages(history, step)
        }
        // A recreated zone does not know the tokens of the earlier zone.
        if history.life > 0 {
            for moment in history.moments where moment.life != history.life {
                let refused = await refusal {
                    _ = try await history.database.pull(FeedHistory.zone, since: moment.token)
                }
                #expect(refused == TokenCodec.expired, "seed \(seed), token of step \(moment.step)")
            }
        }
        await history.end()
    }

    /// Checks one token with all page sizes and in both directions.
    private func checkPages(_ history: FeedHistory, _ step: Int) async throws {
        let living = history.moments.filter { $0.life == history.life }
        let token = step % 4 == 0 ? nil : living[(step * 7) % living.count].token
        let context: Comment = "seed \(history.seed), step \(step)"
        let whole = try await history.database.pull(FeedHistory.zone, since: token, pageSize: 200)
        for pageSize in [1, 3] {
            let paged = try await history.database.pull(FeedHistory.zone, since: token, pageSize: pageSize)
            #expect(paged.changes == whole.changes && paged.token == whole.token, context)
        }
        for pageSize in [1, 4, 200] {
            let reverse = try await history.database.pull(
                FeedHistory.zone, since: token, pageSize: pageSize, reverse: true)
            #expect(Array(reverse.changes.reversed()) == whole.changes && reverse.token == whole.token, context)
        }
        #expect(whole.changes.map(\.position) == whole.changes.compactMap(\.position).sorted(), context)
        #expect(Set(whole.changes.map(\.recordID.recordName)).count == whole.changes.count, context)
    }

    /// A pull during saves by others ends with the state at its end.
    @Test(arguments: seeds)
    func savesDuringAPullAreNotMissed(seed: UInt64) async throws {
        var history = try await FeedHistory(seed: seed, endsZones: false)
        for _ in 0..<20 { try await history.act() }
        for start in [nil] + history.moments.map(Optional.some) {
            var state = start?.state ?? [:]
            var token = start?.token
            var pages = 0
            while true {
                let page = try await history.database.zoneChanges(
                    ZoneChangesRequest(FeedHistory.zone, since: token, limit: PageLimit(records: 2)))
                state = state.applying(page.changes)
                token = page.syncToken
                pages += 1
                if !page.moreComing { break }
                // Saves only during the first pages. Otherwise the pull would never end.
                if pages < 4 { try await history.act() }
            }
            #expect(state == history.state, "seed \(seed), since step \(start?.step ?? -1)")
        }
        await history.end()
    }

    enum Copying: CaseIterable { case backupWhileOpen, folderWhenClosed }

    /// A restored backup accepts tokens from before the backup, and refuses later ones.
    @Test(arguments: Copying.allCases, seeds)
    func aRestoredCopyRefusesLaterTokens(copying: Copying, seed: UInt64) async throws {
        var history = try await FeedHistory(seed: seed, endsZones: false)
        for _ in 0..<12 { try await history.act() }
        let copy = history.folder.url.appending(path: "copy.sqlite")
        let file = history.file
        switch copying {
        case .backupWhileOpen:
            let queue = try DatabaseQueue(path: copy.path(percentEncoded: false))
            try (history.database as? SQLDatabase)?.store.pool.backup(to: queue)
            try queue.close()
        case .folderWhenClosed:
            try await history.reopen { try FileManager.default.copyItem(at: file, to: copy) }
        }
        let (known, state) = (history.moments, history.state)
        for _ in 0..<6 { try await history.act() }
        let later = history.moments.dropFirst(known.count)
        try await history.reopen {
            for suffix in ["", "-wal", "-shm"] {
                try? FileManager.default.removeItem(atPath: file.path(percentEncoded: false) + suffix)
            }
            try FileManager.default.copyItem(at: copy, to: file)
        }
        history.state = state
        for round in 0..<2 {
            let context: Comment = "seed \(seed), round \(round)"
            for moment in known {
                let changes = try await history.database.pull(FeedHistory.zone, since: moment.token).changes
                #expect(moment.state.applying(changes) == history.state, context)
            }
            for moment in later where moment.token != known.last?.token {
                let refused = await refusal {
                    _ = try await history.database.pull(FeedHistory.zone, since: moment.token)
                }
                #expect(refused == TokenCodec.expired, context)
            }
            // The same positions again, with other changes.
            for _ in 0..<8 { try await history.act() }
        }
        await history.end()
    }
}

/// Records by name: tag and number.
private typealias FeedRecords = [Name: String]

extension FeedRecords {
    fileprivate func applying(_ changes: [RecordChange]) -> FeedRecords {
        changes.reduce(into: self) { state, change in
            state[change.recordID.recordName] = change.kind == .deleted ? nil : change.record?.recordChangeTag
        }
    }
}

/// A client that saves and deletes in a zone, and sometimes recreates the zone. It keeps every token with the state at
/// that time.
private struct FeedHistory {
    struct Moment {
        let step: Int
        let life: Int
        let token: ChangeToken
        let state: FeedRecords
    }

    static let zone = ZoneID(zoneName: "Laws")
    private static let names: [Name] = ["a", "b", "é", "e\u{301}", "名前", "z\"quote\\", "💬", "B", "~"]

    let seed: UInt64
    let folder: TemporaryFolder
    var state: FeedRecords = [:]
    private(set) var moments: [Moment] = []
    /// The number of times that the zone was recreated.
    private(set) var life = 0
    private(set) var database: any RecordDatabase
    private var engine: SQLRecordEngine
    private let disk: WatchedFolder
    private let endsZones: Bool
    private var random: SeededRandom

    init(seed: UInt64, endsZones: Bool = true) async throws {
        self.seed = seed
        self.endsZones = endsZones
        random = SeededRandom(seed: seed &+ 5000)
        folder = try TemporaryFolder()
        disk = WatchedFolder(folder.url.appending(path: "data/iCloud.com.example.Test"))
        engine = try StoreUnderTest.engine(folder: folder.url.appending(path: "data"))
        database = try await engine.full(.private)
        _ = try await database.modifyZones([.create(Self.zone)])
        try await remember()
    }

    var file: URL { folder.url.appending(path: "data/iCloud.com.example.Test/development.sqlite") }

    func end() async { await engine.close() }

    mutating func reopen(_ whileClosed: () throws -> Void = {}) async throws {
        await engine.close()
        try whileClosed()
        engine = try StoreUnderTest.engine(folder: folder.url.appending(path: "data"))
        database = try await engine.full(.private)
    }

    /// Saves or deletes some records.
    mutating func act() async throws {
        switch Int.random(in: 0..<30, using: &random) {
        case 0 where endsZones:
            _ = try await database.modifyZones([.delete(Self.zone)])
            _ = try await database.modifyZones([.create(Self.zone)])
            (state, life) = ([:], life + 1)
        case 1: try await reopen()
        default:
            let operations = Self.names.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random)).map {
                name in
                Int.random(in: 0..<3, using: &random) == 0
                    ? RecordOperation(.forceDelete, recordName: name)
                    : RecordOperation(
                        .forceReplace, recordName: name, recordType: "Item",
                        fields: ["n": FieldInput(.int64(Int64(moments.count)))])
            }
            for outcome in try await database.modify(ModifyRequest(operations, zoneID: Self.zone)) {
                switch try outcome.get() {
                case .saved(let record): state[record.recordID.recordName] = record.recordChangeTag
                case .deleted(let recordID): state[recordID.recordName] = nil
                }
            }
        }
        try await remember()
    }

    private mutating func remember() async throws {
        guard let token = try await database.fetchZones([Self.zone]).first?.get().syncToken else { return }
        moments.append(Moment(step: moments.count, life: life, token: token, state: state))
    }
}
