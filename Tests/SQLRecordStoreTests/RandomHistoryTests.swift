import Foundation
import InMemoryRecordStore
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore
@testable import TestStores

/// Random histories: the SQL engine must answer like the in-memory engine. In PostgreSQL, two of them take turns on one
/// database, like two processes.
@Suite struct RandomHistoryTests {
    /// Histories of 1,000 operations. Each depends only on its seed.
    private static let seeds = Chance.seeds(12)
    private static let operations = 1000
    /// The number of histories that run in parallel. Each keeps some dozen files open.
    private static let lanes: UInt64 = 4

    @Test(arguments: 0..<lanes)
    func engineAgreesWithModel(lane: UInt64) async throws {
        for seed in Self.seeds where seed % Self.lanes == lane {
            var history = try History(seed: seed)
            try await history.begin()
            // After the first difference, further ones are meaningless.
            for step in 0..<Self.operations where !history.hasDiffered {
                try await history.step(step)
            }
            try await history.finish()
        }
    }
}

/// One history on both engines.
private struct History {
    private var random: SeededRandom
    private let seed: UInt64
    private let clock = TestClock()
    private let folder: TemporaryFolder
    private let disk: WatchedFolder
    private let model: InMemoryRecordEngine
    private var engine: SQLRecordEngine
    /// In PostgreSQL, another one on the same database.
    private var other: SQLRecordEngine?
    private let cascadeLimits: CascadeLimits
    /// Tokens of various ages, each pair for the same position in both engines.
    private var tokens:
        [(scope: DatabaseScope, caller: Caller, zone: ZoneID?, model: ChangeToken, engine: ChangeToken)] = []

    /// The position up to which the firings were read.
    private var examined: Int64?

    // Names in composed and decomposed form, with quotes, and whose order differs between bytes and characters.
    private static let names: [Name] = [
        "a", "b", "B", "é", "e\u{301}", "z\"quote\\", "💬", "\u{FFFD}x", "aa", "ab", "名前", "~", "x.y/z", "A1", "A2",
        "A3",
        // User record names for the public database: two users who appear, and one who never does.
        ada.userRecordName, grace.userRecordName, "_ffffffffffffffffffffffffffffffff",
    ]
    /// Names that are always refused.
    private static let impossibleNames: [Name] = ["nul\u{0}in it", "a\u{0}", "\u{1}\u{1F}\t", ""]
    /// Small limits, so that journals reach them.
    private static let journal = JournalLimits(days: 1, versions: 6)
    private static let zones: [Name] = ["Red", "Green", "Blue"]
    private static let words = [
        "apple", "Äpfel", "pear", "plum tree", "apple pear", "ZEBRA", "名前", "", "nul\u{0}end", "nul\u{0}", "é",
        "e\u{301}",
        "\t\"quoted\"\\ \u{1}\u{7F}\u{2028}",
    ]

    init(seed: UInt64) throws {
        self.seed = seed
        random = SeededRandom(seed: seed)
        folder = try TemporaryFolder()
        disk = WatchedFolder(folder.url.appending(path: "iCloud.com.example.Test"))
        let clock = clock
        // In most histories, most of a cascade happens between the saves.
        let limits = [
            CascadeLimits(), CascadeLimits(recordsInRequest: 0, recordsInStep: 1),
            CascadeLimits(recordsInRequest: 2, recordsInStep: 2),
        ]
        cascadeLimits = limits[Int(seed % 3)]
        model = InMemoryRecordEngine(
            journal: Self.journal, cascadeLimit: cascadeLimits.recordsInRequest, clock: { clock.now() })
        engine = try Self.open(folder.url, cascadeLimits, clock)
        other = StoreUnderTest.isSQLite ? nil : try Self.open(folder.url, cascadeLimits, clock)
    }

    private static func open(_ folder: URL, _ cascadeLimits: CascadeLimits, _ clock: TestClock) throws
        -> SQLRecordEngine
    {
        try StoreUnderTest.engine(
            folder: folder, journal: journal, logLimits: WriteAheadLogLimits(), cascadeLimits: cascadeLimits,
            clock: { clock.now() })
    }

    /// Most queries should be valid, so the types begin with an index on recordName, which saves never add.
    func begin() async throws {
        for engine in [model, engine] as [any RecordEngine] {
            try await engine.full(.private).edit(
                .addType(
                    RecordType(
                        name: "Item",
                        systemIndexes: [.recordID: [.queryable, .sortable], .modTime: [.queryable, .sortable]])),
                .addRole("Editors"), .addRole("Readers"))
        }
        try await connect()
    }

    /// A file only keeps users who saved; users who only connected are forgotten on closing. So all connect again.
    private func connect() async throws {
        for caller in [ada, grace] {
            for engine in [model, engine] + (other.map { [$0] } ?? []) as [any RecordEngine] {
                _ = try await engine.full(.private, as: caller)
            }
        }
    }

    private(set) var hasDiffered = false

    func finish() async throws {
        let problems = try await StoreRecount.problems(of: engine.full(.private))
        #expect(problems == [], "seed \(seed)")
        await engine.close()
        await other?.close()
    }

    mutating func step(_ index: Int) async throws {
        clock.advance(Int64.random(in: 0...5000, using: &random))
        let takesTurn = Bool.random(using: &random)
        if takesTurn, let other { (engine, self.other) = (other, engine) }
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<30: try await modify(index)
        case 30..<32: try await editGrants(index)
        case 32..<34: try await giveRoles(index)
        case 34..<38: try await readJournal(index)
        case 38..<43: try await saveAssets(index)
        case 43..<45: try await sweepAssets(index)
        case 45..<47: try await modifyZones(index)
        case 47..<49: try await subscribe(index)
        case 49: try await readFirings(index)
        case 50..<54: try await share(index)
        case 54..<74: try await query(index)
        case 74..<88: try await pullZone(index)
        case 88..<94: try await pullDatabase(index)
        case 94..<96: try await editIndexes(index)
        case 96..<98: try await lookAround(index)
        default: try await reopen()
        }
    }

    // MARK: Steps

    private mutating func modify(_ index: Int) async throws {
        let (scope, caller, zone) = anyPlace()
        let count = Bool.random(using: &random) ? 1 : Int.random(in: 2...6, using: &random)
        var operations: [RecordOperation] = []
        var names = Array(Self.names.shuffled(using: &random).prefix(count))
        if Int.random(in: 0..<40, using: &random) == 0 {
            names[0] = Self.impossibleNames.randomElement(using: &random) ?? ""
        }
        for name in names {
            let kind = RecordOperation.Kind.allCases.randomElement(using: &random) ?? .create
            var tag: String?
            if kind.checksTag, Int.random(in: 0..<8, using: &random) > 0 {
                // Asked on both engines, because reading a user's record may create it.
                let asked = RecordID(recordName: name, zoneID: zone)
                try await compare(index, scope, caller, "\(asked)") { try await $0.fetch([asked], desiredKeys: nil) }
                let known = try? await model.full(scope, as: caller).fetch([asked], desiredKeys: nil)
                tag = (try? known?.first?.get())?.recordChangeTag ?? (Bool.random(using: &random) ? "zz" : nil)
            }
            operations.append(
                RecordOperation(
                    kind, recordName: name, recordType: anyType(), recordChangeTag: tag, fields: anyFields(),
                    parent: [.unchanged, .unchanged, .cleared, .record("a")].randomElement(using: &random) ?? .unchanged
                ))
        }
        let requestID =
            [nil, "5F3C0B1E-0000-4000-8000-00000000000\(Int.random(in: 0...9, using: &random))", "by hand é"]
            .randomElement(using: &random) ?? nil
        let request = ModifyRequest(operations, zoneID: zone, atomic: Bool.random(using: &random), requestID: requestID)
        try await compare(index, scope, caller, "\(request)") { try await $0.modify(request) }
        try await StoreRecount.settleCascades(engine.full(.private))
    }

    /// Saves asset fields: new assets, one with a used receipt, and assets of other records. Each engine has its own
    /// tickets, so the requests differ.
    private mutating func saveAssets(_ index: Int) async throws {
        let (scope, caller, zone) = anyPlace()
        let name = Self.names.randomElement(using: &random) ?? "a"
        let type = anyType()
        let files = (0..<Int.random(in: 1...3, using: &random)).map { _ in UInt8.random(in: 1...4, using: &random) }
        let source = Int.random(in: 0..<3, using: &random) == 0 ? Self.names.randomElement(using: &random) : nil
        let reuses = Int.random(in: 0..<6, using: &random) == 0
        let now = clock.now()
        try await compareEngines(
            index, "assets \(files) of \(name) in \(scope) \(zone), from \(source?.string ?? "uploads")"
        ) { engine in
            let database = try await engine.full(scope, as: caller)
            var assets: [Asset] = []
            if let source {
                let sources = [AssetSource(recordName: source, fieldName: "files", index: 0)]
                assets = try await database.require(.uploadAssets).rereference(sources, from: zone, to: zone).map {
                    try $0.get()
                }
            } else {
                for file in files {
                    assets.append(
                        try await engine.upload(
                            file, for: name, field: "files", type: type, in: zone, scope, as: caller, at: now))
                }
            }
            if reuses, let first = assets.first { assets.append(first) }
            let fields: [Name: FieldInput] = ["files": FieldInput(.list(assets.map { .asset($0) }, of: .asset))]
            let operation = RecordOperation(.forceUpdate, recordName: name, recordType: type, fields: fields)
            return try await database.modify(ModifyRequest([operation], zoneID: zone))
        }
    }

    /// Sometimes strikes unused files off, and compares the remaining files and their uses.
    private mutating func sweepAssets(_ index: Int) async throws {
        let (scope, caller, _) = anyPlace()
        let strikes = Bool.random(using: &random)
        if Bool.random(using: &random) { clock.advance(AssetTickets.receiptLifetime) }
        let moment = clock.now()
        let files = (1...4).compactMap { checksum($0) }
        // Waits until the rows of deleted zones are removed, which happens gradually.
        try await eventually { try await StoreRecount.hasSwept(engine.full(.private)) }
        try await compareEngines(index, "sweep") { engine in
            let ledger = try await engine.ledger()
            let struck = strikes ? try await ledger.strike(files, unusedSince: moment) : []
            let uploading = try await engine.full(scope, as: caller)
            var uses: [AssetUses] = []
            for file in files { uses.append(try await uploading.require(.traceAssets).uses(of: file, limit: 100)) }
            let entries = try await ledger.entries(after: nil, limit: 9).map { [$0.size, Int64($0.useCount)] }
            var recorded: [RecordedAsset] = []
            var place: Int64?
            repeat {
                let page = try await ledger.recordedAssets(after: place)
                recorded += page.assets
                place = page.next
            } while place != nil
            return FileSurroundings(struck: struck, uses: uses, entries: entries, recorded: Set(recorded))
        }
    }

    /// Reads the journal of a record, and sometimes restores an earlier version.
    private mutating func readJournal(_ index: Int) async throws {
        let (scope, caller, zone) = anyPlace()
        let name =
            Int.random(in: 0..<30, using: &random) == 0
            ? Self.impossibleNames.randomElement(using: &random) : Self.names.randomElement(using: &random)
        let recordID = RecordID(recordName: name ?? "a", zoneID: zone)
        if Int.random(in: 0..<40, using: &random) == 0 { clock.advance(40_000_000) }
        let limit = PageLimit(records: [1, 2, 50].randomElement(using: &random) ?? 2)
        let before = Bool.random(using: &random) ? Int64.random(in: 0...2000, using: &random) : nil
        try await compare(index, scope, caller, "journal of \(recordID)") {
            try await $0.require(.keepJournal).journal(RecordJournalRequest(recordID, before: before, limit: limit))
        }
        guard Int.random(in: 0..<3, using: &random) == 0 else { return }
        let known =
            (try? await model.full(scope, as: caller).require(.keepJournal).journal(RecordJournalRequest(recordID))
                .entries) ?? []
        let position = known.randomElement(using: &random)?.position ?? Int64.random(in: 0...99, using: &random)
        var tag = known.first.flatMap { $0.kind == .deleted ? nil : $0.recordChangeTag }
        if Int.random(in: 0..<8, using: &random) == 0 { tag = "zz" }
        let reversion = RecordReversion(recordID, to: position, recordChangeTag: tag)
        try await compare(index, scope, caller, "\(reversion)") { try await $0.require(.keepJournal).revert(reversion) }
    }

    private mutating func modifyZones(_ index: Int) async throws {
        let (_, caller, zone) = anyPlace()
        let zoneID = ZoneID(zoneName: zone.isDefault ? "Red" : zone.zoneName)
        if Int.random(in: 0..<5, using: &random) == 0 {
            try await compare(index, .private, caller) {
                try await $0.require(.purgeZones).purge(zoneID); return true
            }
        } else {
            let operation: ZoneOperation =
                Int.random(in: 0..<4, using: &random) == 0 ? .delete(zoneID) : .create(zoneID)
            try await compare(index, .private, caller) { database in
                try await database.modifyZones([operation]).map { $0.map(\.zoneID) }
            }
        }
    }

    private mutating func share(_ index: Int) async throws {
        let zoneID = ZoneID(zoneName: Self.zones.randomElement(using: &random) ?? "Red")
        let permission = ZoneParticipant.Permission.allCases.randomElement(using: &random) ?? .readOnly
        let stops = Int.random(in: 0..<3, using: &random) == 0
        try await compareEngines(index, stops ? "stop sharing" : "share") { engine in
            let database = try await engine.full(.private, as: ada)
            if stops {
                try await database.stopSharing(zoneID, with: grace.userRecordName)
            } else {
                try await database.share(
                    zoneID, with: ZoneParticipant(userRecordName: grace.userRecordName, permission: permission),
                    on: engine)
            }
            return try await database.participants(of: zoneID)
        }
    }

    private mutating func subscribe(_ index: Int) async throws {
        let (scope, caller, zone) = anyPlace()
        let operations = (0..<Int.random(in: 1...3, using: &random)).map { _ -> SubscriptionOperation in
            let id = (["q", "r", "s", "t", "", "e\u{301}"] as [Name]).randomElement(using: &random) ?? "q"
            let type = Bool.random(using: &random) ? nil : anyType()
            switch Int.random(in: 0..<10, using: &random) {
            case 0: return .delete(id)
            case 1: return .save(Subscription(id, to: .zone(zone, recordType: type)))
            case 2...3: return .save(Subscription(id, to: .database(recordType: type)))
            default:
                let events = Set(Subscription.Event.allCases.filter { _ in Int.random(in: 0..<4, using: &random) > 0 })
                let query = QueryMaker.query(using: &random)
                return .save(
                    Subscription(
                        id,
                        to: .query(
                            Subscription.RecordSubject(
                                query, firesOn: events, zoneID: Int.random(in: 0..<3, using: &random) == 0 ? zone : nil)
                        )))
            }
        }
        try await compare(index, scope, caller, "\(operations)") {
            try await $0.require(.keepSubscriptions).modifySubscriptions(operations)
        }
        try await compare(index, scope, caller, "subscriptions") {
            try await $0.require(.keepSubscriptions).subscriptions()
        }
    }

    /// The changes since the last time, since any position, or none so far.
    private mutating func readFirings(_ index: Int) async throws {
        let since = [examined, examined, examined.map { $0 / 2 }, nil].randomElement(using: &random) ?? nil
        try await compare(index, .private, ada, "firings after \(since.map { "\($0)" } ?? "nothing")") {
            try await $0.require(.fireSubscriptions).firings(after: since)
        }
        examined = try await model.full(.private).require(.fireSubscriptions).firings(after: nil).position
    }

    private mutating func query(_ index: Int) async throws {
        let (scope, caller, zone) = anyPlace()
        let query = QueryMaker.query(using: &random)
        let area: QueryRequest.Area = Int.random(in: 0..<4, using: &random) == 0 ? .allZones : .zone(zone)
        let pageSize = [1, 2, 3, 7, 50].randomElement(using: &random) ?? 3
        try await compare(index, scope, caller, "\(query) page \(pageSize)") { database in
            try await database.all(query, in: area, pageSize: pageSize)
        }
    }

    private mutating func pullZone(_ index: Int) async throws {
        let (scope, caller, zone) = anyPlace()
        let since = tokens.filter { $0.zone != nil || Int.random(in: 0..<9, using: &random) == 0 }.randomElement(
            using: &random)
        let usesToken = Int.random(in: 0..<4, using: &random) > 0
        var place = (scope, caller, zone)
        if usesToken, let since, Int.random(in: 0..<8, using: &random) > 0 {
            place = (since.scope, since.caller, since.zone ?? zone)
        }
        let limit = PageLimit(records: [1, 2, 5, 200].randomElement(using: &random) ?? 5)
        let types: Set<Name>? = Int.random(in: 0..<4, using: &random) == 0 ? ["Item"] : nil
        let reverse = Int.random(in: 0..<5, using: &random) == 0
        func request(_ token: ChangeToken?) -> ZoneChangesRequest {
            ZoneChangesRequest(place.2, since: token, limit: limit, desiredRecordTypes: types, reverse: reverse)
        }
        let expected = await Self.outcome {
            try await model.full(place.0, as: place.1).zoneChanges(request(usesToken ? since?.model : nil))
        }
        let found = await Self.outcome {
            try await engine.full(place.0, as: place.1).zoneChanges(request(usesToken ? since?.engine : nil))
        }
        expect(index, expected.map(ZonePage.init), found.map(ZonePage.init), "pull \(place) reverse \(reverse)")
        if case .success(let left) = expected, case .success(let right) = found {
            tokens.append((place.0, place.1, place.2, left.syncToken, right.syncToken))
            try await compareExplanations(index, place.0, place.1, left.syncToken, right.syncToken)
        }
    }

    private mutating func pullDatabase(_ index: Int) async throws {
        let (_, caller, _) = anyPlace()
        let scope: DatabaseScope = Bool.random(using: &random) ? .private : .shared
        let since = Int.random(in: 0..<3, using: &random) > 0 ? tokens.randomElement(using: &random) : nil
        let gone = Bool.random(using: &random)
        let limit = Bool.random(using: &random) ? 1 : 200
        let expected = await Self.outcome {
            try await model.full(scope, as: caller).databaseChanges(
                DatabaseChangesRequest(since: since?.model, includesGoneZones: gone, limit: limit))
        }
        let found = await Self.outcome {
            try await engine.full(scope, as: caller).databaseChanges(
                DatabaseChangesRequest(since: since?.engine, includesGoneZones: gone, limit: limit))
        }
        expect(index, expected.map(DatabasePage.init), found.map(DatabasePage.init), "database pull \(scope)")
        if case .success(let left) = expected, case .success(let right) = found {
            tokens.append((scope, caller, nil, left.syncToken, right.syncToken))
            try await compareExplanations(index, scope, caller, left.syncToken, right.syncToken)
        }
    }

    private mutating func compareExplanations(
        _ index: Int, _ scope: DatabaseScope, _ caller: Caller, _ left: ChangeToken, _ right: ChangeToken
    ) async throws {
        let expected = await Self.outcome {
            try await model.full(scope, as: caller).require(.explainTokens).explain(left)
        }
        let found = await Self.outcome {
            try await engine.full(scope, as: caller).require(.explainTokens).explain(right)
        }
        expect(index, expected, found, "explain")
    }

    private mutating func editIndexes(_ index: Int) async throws {
        let type = anyType()
        let key: FieldKey =
            [
                .system(.recordID), .system(.modTime), .custom("number"), .custom("text"), .custom("tags"),
                .custom("place"),
            ]
            .randomElement(using: &random) ?? .system(.recordID)
        let indexes: Indexes =
            [[], .queryable, [.queryable, .sortable], [.queryable, .sortable, .searchable], .sortable].randomElement(
                using: &random) ?? []
        try await compare(index, .private, ada) { database in
            try await database.edit(.setIndexes(indexes, of: key, in: type)).text
        }
    }

    private mutating func editGrants(_ index: Int) async throws {
        let grants = (["_world", "_icloud", "_creator", "Editors", "Readers"] as [Name]).map { role in
            Grant(
                role: role,
                permissions: Set(Grant.Permission.allCases.filter { _ in Int.random(in: 0..<3, using: &random) == 0 }))
        }
        let type = Int.random(in: 0..<8, using: &random) == 0 ? Schema.usersType : anyType()
        try await compare(index, .public, ada, "\(grants) on \(type)") { database in
            try await database.edit(.setGrants(grants, of: type)).text
        }
    }

    /// The owner sets the roles of a user.
    private mutating func giveRoles(_ index: Int) async throws {
        let user = Bool.random(using: &random) ? ada.userRecordName : grace.userRecordName
        let roles = (["Editors", "Readers"] as [Name]).filter { _ in Bool.random(using: &random) }
        let numbers = FieldValue.list(roles.map { .int64(CustomRole.number(of: $0)) }, of: .int64)
        let operation = RecordOperation(
            .forceUpdate, recordName: user, recordType: Schema.usersType, fields: ["roles": FieldInput(numbers)])
        try await compare(index, .public, ada, "\(roles) to \(user)") {
            try await $0.modify(ModifyRequest([operation]))
        }
    }

    private mutating func lookAround(_ index: Int) async throws {
        let (scope, caller, zone) = anyPlace()
        try await compare(index, scope, caller) { database in
            Surroundings(
                zones: try await database.zones().map(\.zoneID), atomic: try await database.zones().map(\.atomic),
                counts: try await database.require(.countRecords).counts(in: zone),
                referrers: try await database.require(.traceReferences).referrers(
                    to: RecordID(recordName: "a", zoneID: zone), limit: 10),
                records: try await database.fetch(
                    (Self.names + Self.impossibleNames).map { RecordID(recordName: $0, zoneID: zone) },
                    desiredKeys: ["number"]))
        }
        let limit = Int.random(in: 1...4, using: &random)
        try await compare(index, scope, caller, "storage of \(limit)") {
            try await $0.require(.measureStorage).storage(limit: limit)
        }
        let changes = [0, 3, 40, 1000].randomElement(using: &random) ?? 3
        try await compare(index, scope, caller, "summaries of \(limit), \(changes) changes") {
            try await $0.require(.summarizeZones).summaries(limit: limit, changes: changes)
        }
        var request = FeedOutlineRequest(zone, stretches: Int.random(in: 1...9, using: &random))
        if Bool.random(using: &random) { request.after = Int64.random(in: -1...500, using: &random) }
        if Bool.random(using: &random) { request.through = Int64.random(in: 0...2000, using: &random) }
        try await compare(index, scope, caller, "\(request)") { database in
            var outline = try await database.require(.outlineFeed).outline(request)
            // The engines have different tokens.
            for index in outline.stretches.indices where outline.stretches[index].token != nil {
                outline.stretches[index].token = ChangeToken(bytes: [])
            }
            return outline
        }
    }

    private mutating func reopen() async throws {
        await engine.close()
        engine = try Self.open(folder.url, cascadeLimits, clock)
        try await connect()
    }

    // MARK: Choices

    private mutating func anyPlace() -> (DatabaseScope, Caller, ZoneID) {
        let zone = Self.zones.randomElement(using: &random) ?? "Red"
        return switch Int.random(in: 0..<12, using: &random) {
        case 0, 10, 11: (.public, anyPublicCaller(), .default)
        case 1: (.private, ada, .default)
        case 2...3: (.shared, grace, ZoneID(zoneName: zone, ownerRecordName: ada.userRecordName))
        case 4: (.private, grace, ZoneID(zoneName: zone))
        default: (.private, ada, ZoneID(zoneName: zone))
        }
    }

    private mutating func anyPublicCaller() -> Caller {
        var caller = Bool.random(using: &random) ? ada : grace
        caller.access =
            [.unrestricted, .signedIn, .signedIn, .signedIn, .anonymous].randomElement(using: &random) ?? .signedIn
        return caller
    }

    private mutating func anyType() -> Name {
        if Int.random(in: 0..<16, using: &random) == 0 { return Schema.usersType }
        return Int.random(in: 0..<6, using: &random) == 0 ? "Other" : "Item"
    }

    private mutating func anyFields() -> [Name: FieldInput] {
        var fields: [Name: FieldInput] = [:]
        if Bool.random(using: &random) {
            fields["number"] = FieldInput(.int64(Int64.random(in: -3...5, using: &random)))
        }
        if Bool.random(using: &random) {
            fields["ratio"] = FieldInput(.double(Double(Int.random(in: -2...2, using: &random)) / 2))
        }
        if Bool.random(using: &random) { fields["text"] = FieldInput(.string(anyText())) }
        if Int.random(in: 0..<3, using: &random) == 0 {
            fields["tags"] = FieldInput(
                .list((0..<Int.random(in: 0...3, using: &random)).map { _ in .string(anyText()) }, of: .string))
        }
        if Int.random(in: 0..<3, using: &random) == 0 {
            fields["when"] = FieldInput(.timestamp(Timestamp(milliseconds: Int64.random(in: 0...4, using: &random))))
        }
        if Int.random(in: 0..<3, using: &random) == 0 {
            fields["place"] = FieldInput(.location(QueryMaker.location(using: &random)))
        }
        if Int.random(in: 0..<3, using: &random) == 0 {
            let name = Self.names.randomElement(using: &random) ?? "a"
            fields["link"] = FieldInput(
                .reference(
                    Reference(
                        recordName: name, action: Reference.Action.allCases.randomElement(using: &random) ?? .none)))
        }
        if Int.random(in: 0..<6, using: &random) == 0 {
            fields["data"] = FieldInput(.bytes([0, 255, UInt8.random(in: 0...3, using: &random)]))
        }
        if Int.random(in: 0..<8, using: &random) == 0 { fields["number"] = .cleared }
        if Int.random(in: 0..<30, using: &random) == 0 { fields["text"] = FieldInput(.int64(1)) }
        return fields
    }

    private mutating func anyText() -> String {
        if Int.random(in: 0..<12, using: &random) == 0 {
            // Longer than an index entry: equal at first, different at the end.
            return String(repeating: "long ", count: 210) + (Bool.random(using: &random) ? "a" : "b")
        }
        return Self.words.randomElement(using: &random) ?? ""
    }

    // MARK: Comparing

    private mutating func compare<Value: Equatable>(
        _ index: Int, _ scope: DatabaseScope, _ caller: Caller, _ what: @autoclosure () -> String = "",
        _ body: (any RecordDatabase) async throws -> Value
    ) async throws {
        let expected = await Self.outcome { try await body(model.full(scope, as: caller)) }
        let found = await Self.outcome { try await body(engine.full(scope, as: caller)) }
        expect(index, expected, found, what())
    }

    /// Compares an operation on the engines themselves.
    private mutating func compareEngines<Value: Equatable>(
        _ index: Int, _ what: @autoclosure () -> String, _ body: (any RecordEngine) async throws -> Value
    ) async throws {
        let expected = await Self.outcome { try await body(model) }
        let found = await Self.outcome { try await body(engine) }
        expect(index, expected, found, what())
    }

    // Values are compared directly, because formatting them takes longer than everything else.
    private mutating func expect<Value: Equatable>(
        _ index: Int, _ expected: Result<Value, RecordError>, _ found: Result<Value, RecordError>,
        _ what: @autoclosure () -> String
    ) {
        guard expected != found else { return }
        hasDiffered = true
        Issue.record("seed \(seed), step \(index), \(what())\nexpected \(expected)\nfound    \(found)")
    }

    private static func outcome<Value>(_ body: () async throws -> Value) async -> Result<Value, RecordError> {
        do {
            return .success(try await body())
        } catch {
            return .failure(error as? RecordError ?? RecordError(.internalError, "\(error)"))
        }
    }
}

// The results on which both engines must agree: everything except tokens.

private struct ZonePage: Equatable {
    let zoneID: ZoneID
    let changes: [RecordChange]
    let moreComing: Bool

    init(_ page: ZoneChangesPage) {
        (zoneID, changes, moreComing) = (page.zoneID, page.changes.map(\.withoutChance), page.moreComing)
    }
}

private struct DatabasePage: Equatable {
    struct Change: Equatable {
        let zoneID: ZoneID
        let kind: ZoneChange.Kind
        let timestamp: Timestamp?
    }

    let changes: [Change]
    let moreComing: Bool

    init(_ page: DatabaseChangesPage) {
        changes = page.changes.map { Change(zoneID: $0.zoneID, kind: $0.kind, timestamp: $0.timestamp) }
        moreComing = page.moreComing
    }
}

private struct Surroundings: Equatable {
    let zones: [ZoneID]
    let atomic: [Bool]
    let counts: ZoneCounts
    let referrers: [Referrer]
    let records: [Result<StoredRecord, RecordError>]
}

private struct FileSurroundings: Equatable {
    let struck: Set<FileChecksum>
    let uses: [AssetUses]
    let entries: [[Int64]]
    let recorded: Set<RecordedAsset>
}

extension RecordChange {
    /// Links and the identifiers of participants are random.
    fileprivate var withoutChance: RecordChange {
        guard let sharing = record?.sharing, var share = sharing.share else { return self }
        share.shortGUID = ""
        for index in share.participants.indices { share.participants[index].participantID = "" }
        var change = self
        change.record?.sharing = RecordSharing(share: share, hierarchy: sharing.hierarchy)
        return change
    }
}
