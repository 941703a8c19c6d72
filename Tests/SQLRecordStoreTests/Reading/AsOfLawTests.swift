import Foundation
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore
@testable import TestStores

/// The answer as of a position is the answer that was given when that position was the latest, by random histories.
@Suite struct AsOfLawTests {
    /// Histories whose journal keeps everything, and histories with small limits.
    enum Journal: CaseIterable {
        case whole, limited

        var limits: JournalLimits { self == .whole ? .standard : JournalLimits(days: 1, versions: 4) }
    }

    private static let seeds = Chance.seeds(3)

    @Test(arguments: Journal.allCases, seeds)
    func answersAsOfAPositionAreThoseOfThen(journal: Journal, seed: UInt64) async throws {
        var history = try await AsOfHistory(seed: seed, journal)
        for step in 0..<60 {
            try await history.act()
            if step % 3 == 0 { try await history.remember() }
            if step % 20 == 19 { try await history.checkAll() }
        }
        print("seed \(seed), \(journal): \(history.compared) answers compared, \(history.notKnown) states not known")
        #expect(history.compared > 3000)
        if journal == .limited { #expect(history.notKnown > 0) }
        await history.end()
    }

    @Test func aPointIsReadFromAText() {
        #expect(AsOf("17") == .position(17) && AsOf("") == nil)
        #expect(AsOf("1970-01-01T00:00:01Z") == .time(Timestamp(milliseconds: 1000)))
        #expect(AsOf("AQAAAA") == .token(ChangeToken(text: "AQAAAA")))
    }

    @Test func aPointMustBeOneOfTheDatabase() async throws {
        let folder = try TemporaryFolder()
        let engine = try StoreUnderTest.engine(folder: folder.url)
        let database = try await engine.withZone()
        for number in 0..<3 { try await database.save(Name("r\(number)"), in: notes) }
        let earlier = try database.require(.readEarlierStates)
        for point in [AsOf.position(99_999), .token(ChangeToken(bytes: [1, 2, 3]))] {
            #expect(await refusal { _ = try await earlier.database(asOf: point) }?.code == .badRequest)
        }
        let page = try await database.zoneChanges(ZoneChangesRequest(notes, limit: PageLimit(records: 1)))
        let unfinished = await refusal { _ = try await earlier.database(asOf: .token(page.syncToken)) }
        #expect(unfinished?.known == .stateNotKnown)
        let then = try await earlier.database(asOf: .position(1))
        #expect(await refusal { try await then.save("x", in: notes) }?.code == .badRequest)
        #expect(!then.can(.editSchema) && !then.can(.purgeZones) && then.can(.showSchema) && then.can(.listRecords))
        await engine.close()
    }

    /// A guest's copy of a part of a zone has no journal. What changed is not known; the rest is.
    @Test func theViewOfAGuestIsNotKnownWhereItChanged() async throws {
        let folder = try TemporaryFolder()
        let engine = try StoreUnderTest.engine(folder: folder.url)
        let stage = try await SharingStage(on: engine)
        let zone = SharingStage.seen
        try await stage.accept(try await stage.share(publicPermission: .readWrite), as: grace)
        let guest = try await stage.shared(grace)
        let token = try await guest.currentToken(of: zone)
        let names = try await guest.require(.listRecords).list(RecordListRequest(zone)).records.map(\.recordID)
        let name = try #require(names.first { $0.recordName == "list" })
        try await stage.owner.save("list", in: notes)
        let then = try await guest.require(.readEarlierStates).database(asOf: .token(token))
        let found = try await then.fetch(names, desiredKeys: nil)
        for (recordID, result) in zip(names, found) {
            #expect((try? result.get()) != nil || recordID == name)
            if recordID == name, case .failure(let error) = result { #expect(error.known == .stateNotKnown) }
        }
        await engine.close()
    }

    // MARK: What is not known

    /// What takes the earlier versions of records.
    enum Limit: CaseIterable {
        case age, versions, bytes, off

        var limits: JournalLimits {
            switch self {
            case .age: JournalLimits(days: 1)
            case .versions: JournalLimits(days: 30, versions: 4)
            case .bytes: JournalLimits(days: 30, bytes: 20_000)
            case .off: JournalLimits(days: 0)
            }
        }
    }

    /// Of three records, one never changed, the version of one is kept, and that of one is not, since the last step.
    @Test(arguments: Limit.allCases) func aRecordIsNotKnownWhereALimitTookItsVersion(limit: Limit) async throws {
        let (folder, clock) = (try TemporaryFolder(), TestClock())
        let engine = try StoreUnderTest.engine(folder: folder.url, journal: limit.limits, clock: { clock.now() })
        let database = try await engine.withZone()
        try await database.edit(.addType(Self.item))
        let text = FieldValue.string(String(repeating: "x", count: 1000))
        func save(_ name: Name, _ round: Int64) async throws {
            try await database.save(name, in: notes, ["text": text, "round": .int64(round)])
        }
        let names: [Name] = ["kept", "lost", "same"]
        for name in names { try await save(name, 0) }
        let then = try await database.require(.readEarlierStates).database(asOf: .time(clock.now()))
        /// The records that are not known, by each way to read.
        func notKnown() async throws -> [Name] {
            let page = try await then.query(QueryRequest(Query(recordType: "Item"), in: .zone(notes)))
            let lacking = page.notKnown.records.map(\.recordName)
            #expect((page.records.map(\.recordID.recordName) + lacking).sorted() == names)
            #expect(page.notKnown.count == lacking.count)
            #expect(try await then.counts(in: notes).notKnown == lacking.count)
            #expect(try await then.list(RecordListRequest(notes)).notKnown == page.notKnown)
            let recordIDs = names.map { RecordID(recordName: $0, zoneID: notes) }
            for (name, result) in zip(names, try await then.fetch(recordIDs, desiredKeys: nil)) {
                switch result {
                case .success(let record): #expect(try record.fields.values(of: ["round"]) == ["round": .int64(0)])
                case .failure(let error): #expect(error.known == .stateNotKnown && lacking.contains(name))
                }
            }
            return lacking
        }
        switch limit {
        case .age:
            try await save("lost", 1)
            clock.advance(86_400_000)
            try await save("kept", 1)
            #expect(try await notKnown() == [])
            clock.advance(1)
        case .versions:
            for round in 1...4 as ClosedRange<Int64> {
                for name in ["kept", "lost"] as [Name] { try await save(name, round) }
            }
            #expect(try await notKnown() == [])
            try await save("lost", 5)
        case .bytes:
            try await save("lost", 1)
            #expect(try await notKnown() == [])
            for round in 0..<30 as Range<Int64> { try await save("later", round) }
            try await save("kept", 1)
        case .off:
            #expect(try await notKnown() == [])
            try await save("lost", 1)
        }
        #expect(try await notKnown() == ["lost"])
        await engine.close()
    }

    /// What ends zones.
    enum End: CaseIterable {
        case deletion, purge, resetOfTheZone, resetOfTheEnvironment
    }

    @Test(arguments: End.allCases) func theStateOfAZoneThatEndedIsNotKnown(end: End) async throws {
        let folder = try TemporaryFolder()
        let engine = try StoreUnderTest.engine(folder: folder.url)
        let database = try await engine.withZone()
        let schema = try await database.edit(.addType(Self.item))
        let other = ZoneID(zoneName: "Other")
        _ = try await database.modifyZones([.create(other)])
        for zoneID in [.default, notes, other] { try await database.save("r", in: zoneID) }
        let reading = try database.require(.readEarlierStates)
        let then = try await reading.database(asOf: .token(try await database.currentToken(of: other)))
        func zones() async throws -> (found: Set<ZoneID>, notKnown: Set<Name>) {
            let page = try await then.query(QueryRequest(Query(recordType: "Item"), in: .allZones))
            return (Set(page.records.map(\.recordID.zoneID)), Set(page.notKnown.zones.map(\.zoneName)))
        }
        /// The refusal of each way to read a zone alone.
        func refusals(of zoneID: ZoneID) async -> [RecordError?] {
            [
                await refusal {
                    _ = try await then.query(QueryRequest(Query(recordType: "Item"), in: .zone(zoneID)))
                },
                await refusal { _ = try await then.counts(in: zoneID) },
                await refusal { _ = try await then.list(RecordListRequest(zoneID)) },
                await refusal {
                    let recordID = RecordID(recordName: "r", zoneID: zoneID)
                    for result in try await then.fetch([recordID], desiredKeys: nil) { _ = try result.get() }
                },
            ]
        }
        let before = try await zones()
        #expect(before.found.count == 3 && before.notKnown.isEmpty)
        switch end {
        case .deletion: _ = try await database.modifyZones([.delete(notes)])
        case .purge: try await database.require(.purgeZones).purge(notes)
        case .resetOfTheZone: try await InjectedFault.resetZone.perform(in: database, zoneID: notes)
        case .resetOfTheEnvironment: _ = try await database.require(.editSchema).reset(to: schema)
        }
        switch end {
        case .deletion, .purge:
            #expect(await refusals(of: notes).allSatisfy { $0?.code == .zoneNotFound })
        case .resetOfTheZone:
            #expect(await refusals(of: notes).allSatisfy { $0?.known == .stateNotKnown })
        case .resetOfTheEnvironment:
            // The default zone exists always, and has a row in the store when something is saved in it.
            for _ in 0..<2 {
                #expect(await refusals(of: .default).allSatisfy { $0?.known == .stateNotKnown })
                try await database.save("again")
            }
        }
        let after = try await zones()
        if end == .resetOfTheEnvironment {
            #expect(after.found.isEmpty && after.notKnown == ["Notes", "Other", ZoneID.default.zoneName])
        } else {
            #expect(after.found.count == 2 && after.notKnown == ["Notes"])
        }
        // What came afterwards is known.
        let now = try await reading.database(asOf: .time(.now()))
        let page = try await now.query(QueryRequest(Query(recordType: "Item"), in: .allZones))
        #expect(page.notKnown.isEmpty && page.records.count == (end == .resetOfTheEnvironment ? 1 : 2))
        await engine.close()
    }

    /// Who left a share and accepts it again has another view of the zone.
    @Test func theEarlierViewOfAGuestWhoReturnedIsNotKnown() async throws {
        let folder = try TemporaryFolder()
        let engine = try StoreUnderTest.engine(folder: folder.url)
        let stage = try await SharingStage(on: engine)
        let share = try await stage.share(publicPermission: .readWrite)
        try await stage.accept(share, as: grace)
        let guest = try await stage.shared(grace)
        let token = try await guest.currentToken(of: SharingStage.seen)
        let then = try await guest.require(.readEarlierStates).database(asOf: .token(token))
        #expect(try await then.counts(in: SharingStage.seen).total > 0)
        for result in try await guest.modifyZones([.delete(SharingStage.seen)]) { _ = try result.get() }
        try await stage.accept(share, as: grace)
        let refused = await refusal { _ = try await then.counts(in: SharingStage.seen) }
        #expect(refused?.known == .stateNotKnown)
        await engine.close()
    }

    private static let item = RecordType(name: "Item", systemIndexes: [.recordID: [.queryable, .sortable]])
}

/// A history of one store, with what its databases answered at some positions.
private struct AsOfHistory {
    /// A zone, as somebody sees it.
    private struct Place: Hashable {
        let scope: DatabaseScope
        let caller: Caller
        let zoneID: ZoneID
    }

    /// What was answered at a position.
    private struct Moment {
        let step: Int
        let position: Int64
        let time: Timestamp
        var answers: [(place: Place, life: Int, answers: Answers)] = []
        /// Of all zones of a database.
        var wide: [(query: Query, records: [StoredRecord])] = []
    }

    private struct Answers {
        var token: ChangeToken?
        var records: [Name: StoredRecord]
        var counts: ZoneCounts
        var list: [StoredRecord]
        var queries: [(query: Query, records: [StoredRecord])]
    }

    private static let names: [Name] = [
        "a", "b", "B", "é", "e\u{301}", "z\"quote\\", "💬", "aa", "名前", "~", "A1", "A2", "A3", "A4", "A5", "A6",
    ]
    private static let clock = ZoneID(zoneName: "Clock")
    private static let zones = [ZoneID(zoneName: "Red"), ZoneID(zoneName: "Green")]
    private static let words = ["apple", "Äpfel", "pear", "plum tree", "apple pear", "ZEBRA", "", "é"]

    private(set) var compared = 0
    /// States that were not known.
    private(set) var notKnown = 0
    private let seed: UInt64
    private let journal: AsOfLawTests.Journal
    private let folder: TemporaryFolder
    private let time = TestClock()
    private var engine: SQLRecordEngine
    private var random: SeededRandom
    private var moments: [Moment] = []
    /// How often the zone Green was made again.
    private var life = 0
    private var step = 0

    init(seed: UInt64, _ journal: AsOfLawTests.Journal) async throws {
        (self.seed, self.journal) = (seed, journal)
        random = SeededRandom(seed: seed &+ (journal == .whole ? 9000 : 7000))
        folder = try TemporaryFolder()
        let clock = time
        engine = try StoreUnderTest.engine(folder: folder.url, journal: journal.limits, clock: { clock.now() })
        let database = try await engine.full(.private)
        // Queries as of a position use the schema and the indexes of now, so they are there from the start.
        let indexes: [SystemField: Indexes] = [.recordID: [.queryable, .sortable], .modTime: [.queryable, .sortable]]
        try await database.edit(
            .addType(RecordType(name: "Item", systemIndexes: indexes)),
            .addType(RecordType(name: "Other", systemIndexes: indexes)))
        _ = try await database.modifyZones(([Self.clock] + Self.zones).map { .create($0) })
        for type in ["Item", "Other"] as [Name] {
            _ = try await database.modify(
                ModifyRequest([RecordOperation(.create, recordName: "all", recordType: type, fields: every)]))
            try await database.delete("all")
        }
        _ = try await engine.full(.private, as: grace)
        try await database.share(
            Self.zones[0], with: ZoneParticipant(userRecordName: grace.userRecordName, permission: .readWrite),
            on: engine)
    }

    func end() async { await engine.close() }

    // MARK: Acting

    private let every: [Name: FieldInput] = [
        "number": FieldInput(.int64(1)), "ratio": FieldInput(.double(0.5)), "text": FieldInput(.string("apple")),
        "tags": FieldInput(.list([.string("pear")], of: .string)),
        "when": FieldInput(.timestamp(Timestamp(milliseconds: 1))),
        "place": FieldInput(.location(Location(latitude: 1, longitude: 2))),
        "link": FieldInput(.reference(Reference(recordName: "a", action: .none))), "data": FieldInput(.bytes([1])),
    ]

    private var places: [Place] {
        let shared = ZoneID(zoneName: "Red", ownerRecordName: ada.userRecordName)
        return Self.zones.map { Place(scope: .private, caller: ada, zoneID: $0) } + [
            Place(scope: .private, caller: ada, zoneID: .default), Place(scope: .public, caller: ada, zoneID: .default),
            Place(scope: .shared, caller: grace, zoneID: shared),
        ]
    }

    mutating func act() async throws {
        step += 1
        time.advance(Int64.random(in: 1...5000, using: &random))
        if journal == .limited, Int.random(in: 0..<12, using: &random) == 0 { time.advance(30_000_000) }
        switch Int.random(in: 0..<30, using: &random) {
        case 0:
            let database = try await engine.full(.private)
            _ = try await database.modifyZones([.delete(Self.zones[1])])
            _ = try await database.modifyZones([.create(Self.zones[1])])
            life += 1
        case 1:
            await engine.close()
            let clock = time
            engine = try StoreUnderTest.engine(folder: folder.url, journal: journal.limits, clock: { clock.now() })
        default:
            for _ in 0..<3 {
                let place = places.randomElement(using: &random) ?? places[0]
                let names = Self.names.shuffled(using: &random).prefix(Int.random(in: 1...6, using: &random))
                let operations = names.map { name in
                    Int.random(in: 0..<3, using: &random) == 0
                        ? RecordOperation(.forceDelete, recordName: name)
                        : RecordOperation(
                            Bool.random(using: &random) ? .forceReplace : .forceUpdate, recordName: name,
                            recordType: Int.random(in: 0..<4, using: &random) == 0 ? "Other" : "Item",
                            fields: anyFields())
                }
                let database = try await engine.full(place.scope, as: place.caller)
                _ = try await database.modify(
                    ModifyRequest(operations, zoneID: place.zoneID, atomic: false))
                try await StoreRecount.settleCascades(engine.full(.private))
            }
        }
    }

    private mutating func anyFields() -> [Name: FieldInput] {
        var fields: [Name: FieldInput] = [
            "number": FieldInput(.int64(Int64.random(in: -3...5, using: &random))),
            "ratio": FieldInput(.double(Double(Int.random(in: -2...2, using: &random)) / 2)),
        ]
        if Bool.random(using: &random) {
            fields["text"] = FieldInput(.string(Self.words.randomElement(using: &random) ?? ""))
        }
        if Bool.random(using: &random) { fields["place"] = FieldInput(.location(QueryMaker.location(using: &random))) }
        if Int.random(in: 0..<3, using: &random) == 0 {
            fields["tags"] = FieldInput(
                .list([.string(Self.words.randomElement(using: &random) ?? "")], of: .string))
            fields["when"] = FieldInput(.timestamp(Timestamp(milliseconds: Int64.random(in: 0...4, using: &random))))
        }
        if Int.random(in: 0..<4, using: &random) == 0 {
            let action = [Reference.Action.none, .deleteSelf].randomElement(using: &random) ?? .none
            fields["link"] = FieldInput(
                .reference(Reference(recordName: Self.names.randomElement(using: &random) ?? "a", action: action)))
        }
        return fields
    }

    // MARK: Remembering

    /// Notes what all places answer now.
    mutating func remember() async throws {
        let own = try await engine.full(.private)
        try await own.save("now", in: Self.clock)
        let token = try await own.currentToken(of: Self.clock)
        let position = try await own.require(.explainTokens).explain(token).position
        var moment = Moment(step: step, position: position, time: time.now())
        for place in places {
            let database = try await engine.full(place.scope, as: place.caller)
            let found = try await database.fetch(recordIDs(in: place), desiredKeys: nil)
            var queries: [(Query, [StoredRecord])] = []
            for _ in 0..<4 {
                let query = QueryMaker.query(using: &random)
                if let records = try? await database.all(query, in: .zone(place.zoneID), pageSize: 3) {
                    queries.append((query, records.map(\.withoutShares)))
                }
            }
            moment.answers.append(
                (
                    place, life,
                    Answers(
                        token: place.scope == .public || place.zoneID.isDefault
                            ? nil : try await database.currentToken(of: place.zoneID),
                        records: Dictionary(
                            zip(Self.names, found).compactMap { name, result in
                                (try? result.get()).map { (name, $0.withoutShares) }
                            }, uniquingKeysWith: { first, _ in first }),
                        counts: try await database.require(.countRecords).counts(in: place.zoneID),
                        list: try await database.require(.listRecords).list(RecordListRequest(place.zoneID)).records
                            .map(\.withoutShares),
                        queries: queries)
                ))
        }
        let query = QueryMaker.query(using: &random)
        if let records = try? await own.all(query, in: .allZones, pageSize: 4) {
            moment.wide.append((query, records.map(\.withoutShares)))
        }
        moments.append(moment)
    }

    private func recordIDs(in place: Place) -> [RecordID] {
        Self.names.map { RecordID(recordName: $0, zoneID: place.zoneID) }
    }

    // MARK: Comparing

    mutating func checkAll() async throws {
        for moment in moments {
            for (place, life, answers) in moment.answers { try await check(moment, place, life, answers) }
            let then = try await engine.full(.private).require(.readEarlierStates).database(
                asOf: .position(moment.position))
            for (query, records) in moment.wide {
                let found = try await pages(of: query, in: .allZones, from: then)
                let expected = records.filter { !found.notKnown.zones.contains($0.recordID.zoneID) }
                compare(found.records, with: expected, except: found.notKnown, moment, "\(query) in all zones")
            }
        }
    }

    private mutating func check(_ moment: Moment, _ place: Place, _ life: Int, _ answers: Answers) async throws {
        let database = try await engine.full(place.scope, as: place.caller)
        let reader = try database.require(.readEarlierStates)
        let isGone = place.zoneID.zoneName == "Green" && life != self.life
        // A position, a time, or the token of the zone, whose position may be an earlier one with the same state.
        let point: AsOf =
            switch Int.random(in: 0..<3, using: &random) {
            case 0: .time(moment.time)
            case 1: answers.token.map { .token($0) } ?? .position(moment.position)
            default: .position(moment.position)
            }
        let context = "seed \(seed), \(journal), as of step \(moment.step) (\(point)), \(place.scope) \(place.zoneID)"
        if isGone {
            let refused = await refusal {
                _ = try await reader.database(asOf: point).require(.countRecords).counts(in: place.zoneID)
            }
            let known = refused?.known
            #expect(known == .stateNotKnown || known == .expiredToken, "\(context): \(refused?.reason ?? "-")")
            compared += 1
            return
        }
        let then = try await reader.database(asOf: point)
        var unknown: Set<Name> = []
        let found = try await then.fetch(recordIDs(in: place), desiredKeys: nil)
        for (name, result) in zip(Self.names, found) {
            compared += 1
            switch result {
            case .success(let record):
                #expect(record.withoutShares == answers.records[name], "\(context), '\(name)'")
            case .failure(let error) where error.known == .stateNotKnown:
                unknown.insert(name)
                #expect(try await !isKept(name, in: place, at: then.position), "\(context), '\(name)'")
            case .failure(let error):
                #expect(error == .recordNotFound && answers.records[name] == nil, "\(context), '\(name)': \(error)")
            }
        }
        notKnown += unknown.count
        if journal == .whole { #expect(unknown.isEmpty, "\(context)") }
        let counts = try await then.counts(in: place.zoneID)
        #expect(counts.notKnown == unknown.count, "\(context)")
        if unknown.isEmpty {
            #expect(counts.records == answers.counts.records, "\(context)")
            #expect(counts.deletions == answers.counts.deletions, "\(context)")
        } else {
            #expect((counts.total...counts.total + unknown.count).contains(answers.counts.total), "\(context)")
        }
        try await checkList(moment, place, answers, then)
        for (query, records) in answers.queries {
            let found = try await pages(of: query, in: .zone(place.zoneID), from: then)
            #expect(Set(found.notKnown.records.map(\.recordName)).isSubset(of: unknown), "\(context), \(query)")
            compare(found.records, with: records, except: found.notKnown, moment, "\(context), \(query)")
        }
    }

    private mutating func checkList(
        _ moment: Moment, _ place: Place, _ answers: Answers, _ then: any EarlierDatabase
    ) async throws {
        var (records, lacking) = ([StoredRecord](), NotKnown())
        var request = RecordListRequest(place.zoneID, limit: PageLimit(records: 5))
        repeat {
            let page = try await then.list(request)
            records += page.records
            lacking += page.notKnown
            request.after = page.last
        } while request.after != nil
        compare(records, with: answers.list, except: lacking, moment, "list of \(place)")
    }

    private func pages(
        of query: Query, in area: QueryRequest.Area, from database: any RecordDatabase
    ) async throws -> (records: [StoredRecord], notKnown: NotKnown) {
        var request = QueryRequest(query, in: area, limit: PageLimit(records: 3))
        var page = try await database.query(request)
        var records = page.records
        let notKnown = page.notKnown
        while let marker = page.continuationMarker {
            request.continuationMarker = marker
            page = try await database.query(request)
            records += page.records
        }
        return (records, notKnown)
    }

    private mutating func compare(
        _ found: [StoredRecord], with expected: [StoredRecord], except notKnown: NotKnown, _ moment: Moment,
        _ what: @autoclosure () -> String
    ) {
        compared += 1
        let missing = Set(notKnown.records)
        let known = expected.filter { !missing.contains($0.recordID) }
        if found.map(\.withoutShares) != known {
            Issue.record(
                """
                seed \(seed), \(journal), as of step \(moment.step) at \(moment.position): \(what())
                expected \(known.map(\.recordID.recordName)), found \(found.map(\.recordID.recordName))
                """)
        }
    }

    /// True if the journal still has the record's state at a position.
    private func isKept(_ name: Name, in place: Place, at position: Int64) async throws -> Bool {
        let database = try await engine.full(place.scope, as: place.caller)
        let recordID = RecordID(recordName: name, zoneID: place.zoneID)
        return try await database.require(.keepJournal).journal(
            RecordJournalRequest(recordID, limit: PageLimit(records: 1000))
        ).entries.contains { $0.position <= position }
    }
}

extension StoredRecord {
    /// The journal does not keep shares.
    fileprivate var withoutShares: StoredRecord {
        var record = self
        record.sharing = nil
        return record
    }
}
