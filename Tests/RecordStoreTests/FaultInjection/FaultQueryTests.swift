import Records
import StoreScenarios
import Testing

@testable import RecordStore

/// Faults in queries and saves, and their area.
@Suite struct FaultQueryTests {
    private let items = Query(recordType: "Item", sorts: [Query.Sort("rank")])

    private func stage() async throws -> FaultStage {
        let stage = try await FaultStage()
        for (rank, name) in (["a", "b", "c", "d"] as [Name]).enumerated() {
            try await stage.plain.save(name, in: notes, ["rank": .int64(Int64(rank))])
        }
        _ = try await stage.plain.require(.editSchema).edit([
            .setIndexes([.queryable], of: .system(.recordID), in: "Item"),
            .setIndexes([.sortable], of: .custom("rank"), in: "Item"),
        ])
        stage.clock.advance(10_000)
        return stage
    }

    private func names(_ records: [StoredRecord]) -> [Name] { records.map(\.recordID.recordName) }

    @Test func pagesOfOneAndEmptyPages() async throws {
        let stage = try await stage()
        try stage.start(.pagesOfOne, .emptyPages)
        var request = QueryRequest(items, in: .zone(notes))
        var pages: [[Name]] = []
        repeat {
            let page = try await stage.door.query(request)
            pages.append(names(page.records))
            request.continuationMarker = page.continuationMarker
        } while request.continuationMarker != nil
        #expect(pages == [[], ["a"], [], ["b"], [], ["c"], [], ["d"]])
        #expect(names(try await stage.door.all(items, in: .allZones)) == ["a", "b", "c", "d"])
        let error = await refusal {
            _ = try await stage.door.query(QueryRequest(Query(recordType: "Nothing"), in: .zone(notes)))
        }
        #expect(error?.code == .badRequest || error?.code == .notFound)
    }

    @Test func aLaggingIndexKnowsWhatWasThereBeforeAlsoWhereItsSaverMayNotRead() async throws {
        let stage = try await FaultStage()
        let owner = try await stage.engine.full(.public)
        try await owner.save("letter", ["rank": .int64(1)])
        _ = try await owner.require(.editSchema).edit([
            .setIndexes([.queryable], of: .system(.recordID), in: "Item"),
            .setIndexes([.sortable], of: .custom("rank"), in: "Item"),
            .setGrants([Grant(role: "_icloud", permissions: [.write])], of: "Item"),
        ])
        stage.clock.advance(10_000)
        try stage.start(.laggingIndex)
        let door = FaultInjectingEngine(stage.engine, stage.faults)
        let writer = try await door.database(
            owner.address, as: Caller(userRecordName: grace.userRecordName, access: .signedIn))
        let refused = await refusal { _ = try await writer.query(QueryRequest(items)) }
        #expect(refused?.code == .accessDenied)
        try await writer.save("letter", ["rank": .int64(2)])
        let found = try await door.full(.public).query(QueryRequest(items)).records
        #expect(try found.map { try $0.fields.values(of: ["rank"]) } == [["rank": .int64(1)]])
    }

    @Test func aLaggingIndexKnowsOnlyWhatIsOlder() async throws {
        let stage = try await stage()
        try stage.start(.laggingIndex)
        try await stage.door.save("b2", in: notes, ["rank": .int64(1)])
        stage.clock.advance(1_000)
        try await stage.door.save("c2", in: notes, ["rank": .int64(2)])
        #expect(names(try await stage.door.all(items, in: .zone(notes))) == ["a", "b", "c", "d"])
        #expect(try await stage.door.names(in: notes, of: ["b2", "c2"]) == ["b2", "c2"])
        #expect(try await stage.door.pull(notes).changes.count == 6)
        #expect(names(try await stage.plain.all(items, in: .zone(notes))) == ["a", "b", "b2", "c", "c2", "d"])
        // Pages are filled with later records in place of the omitted ones.
        for size in 1...5 {
            #expect(names(try await stage.door.all(items, in: .zone(notes), pageSize: size)) == ["a", "b", "c", "d"])
        }
        #expect(
            try await stage.door.query(QueryRequest(items, in: .zone(notes), limit: PageLimit(records: 3))).records
                .count == 3)
        stage.clock.advance(2_000)
        #expect(names(try await stage.door.all(items, in: .zone(notes))) == ["a", "b", "b2", "c", "d"])
        stage.clock.advance(1_000)
        #expect(names(try await stage.door.all(items, in: .zone(notes))) == ["a", "b", "b2", "c", "c2", "d"])
    }

    @Test func aLaggingIndexStillKnowsWhatWasChangedOrDeleted() async throws {
        let stage = try await stage()
        try stage.start(.laggingIndex)
        try await stage.door.save("a", in: notes, ["rank": .int64(9)])
        try await stage.door.delete("c", in: notes)
        for size in 1...5 {
            #expect(names(try await stage.door.all(items, in: .zone(notes), pageSize: size)) == ["a", "b", "c", "d"])
        }
        #expect(try await stage.door.names(in: notes, of: ["a", "c"]) == ["a"])
        stage.clock.advance(3_000)
        #expect(names(try await stage.door.all(items, in: .zone(notes))) == ["b", "d", "a"])
    }

    @Test func aStoppedLaggingIndexRemembersNothing() async throws {
        let stage = try await stage()
        try stage.start(.laggingIndex)
        try stage.start(.laggingIndex, in: FaultArea(zoneID: notes))
        try await stage.door.save("a", in: notes, ["rank": .int64(9)])
        stage.faults.stop(.laggingIndex, in: .everywhere)
        #expect(names(try await stage.door.all(items, in: .zone(notes))) == ["a", "b", "c", "d"])
        stage.faults.stop()
        try stage.start(.laggingIndex)
        #expect(names(try await stage.door.all(items, in: .zone(notes))) == ["b", "c", "d"])
    }

    @Test func onlySoManyBytesAreRemembered() async throws {
        let stage = try await stage()
        try await stage.plain.save("large", in: notes, ["text": .string(String(repeating: "x", count: 900_000))])
        let record = try #require(
            try await stage.plain.fetch([RecordID(recordName: "large", zoneID: notes)], desiredKeys: nil).first?.get())
        let saves = RecentSaves()
        let now = stage.clock.now()
        let place = RecentSaves.Place(
            container: stage.plain.address.container, environment: .development, zoneID: record.recordID.zoneID)
        let records = (0..<100).map { number in
            var copy = record
            copy.recordID = RecordID(recordName: Name("r\(number)"), zoneID: record.recordID.zoneID)
            return copy
        }
        for record in records {
            saves.add(
                [record], container: place.container, environment: place.environment, until: now,
                horizon: Timestamp(milliseconds: 0))
        }
        let held = saves.records(at: Timestamp(milliseconds: 0), in: [place])
        #expect((30...37).contains(held.count) && held[records[99].recordID] != nil)
        #expect(saves.isEmpty(since: now))
    }

    @Test func aConflictSavesNothing() async throws {
        let stage = try await stage()
        let operations = ["x", "y", "z"].map { RecordOperation(.forceUpdate, recordName: $0, recordType: "Item") }
        try stage.faults.start(FaultSetting(.conflict, count: 2))
        #expect(try await stage.door.outcomes(operations, in: notes) == [.conflict, .atomicError, .atomicError])
        #expect(
            try await stage.door.outcomes(operations, in: notes, atomic: false) == [.conflict, .conflict, .conflict])
        #expect(try await stage.plain.names(in: notes, of: ["x", "y", "z"]).isEmpty)
        #expect(stage.faults.active.isEmpty)
        #expect(try await stage.door.outcomes(operations, in: notes) == [nil, nil, nil])
    }

    @Test func aBusyZoneIsBusyForAWhile() async throws {
        let stage = try await stage()
        try stage.faults.start(FaultSetting(.zoneBusy, count: 4), in: FaultArea(zoneID: notes))
        #expect(try await stage.door.names(of: ["elsewhere"]).isEmpty)
        let errors = [
            await refusal { _ = try await stage.door.query(QueryRequest(items, in: .zone(notes))) },
            await refusal { _ = try await stage.door.names(in: notes, of: ["a"]) },
            await refusal { _ = try await stage.door.pull(notes) },
            await refusal { try await stage.door.save("x", in: notes) },
        ]
        #expect(errors.allSatisfy { $0?.code == .zoneBusy && $0?.retryAfter == 2 })
        #expect(try await stage.door.names(in: notes, of: ["a", "x"]) == ["a"])
    }

    @Test func aFaultHoldsInItsAreaOnly() async throws {
        let stage = try await stage()
        let other = try #require(ContainerID("iCloud.com.example.Other"))
        for area in [
            FaultArea(container: other), FaultArea(environment: .production), FaultArea(scope: .public),
            FaultArea(zoneID: ZoneID(zoneName: "Others")),
            FaultArea(zoneID: ZoneID(zoneName: "Notes", ownerRecordName: grace.userRecordName)),
        ] {
            try stage.start(.pagesOfOne, in: area)
            let named = ZoneID(zoneName: "Notes", ownerRecordName: ada.userRecordName)
            #expect(try await stage.door.zoneChanges(ZoneChangesRequest(named)).changes.count == 4, "\(area)")
            stage.faults.stop(.pagesOfOne, in: area)
        }
        #expect(stage.faults.active.isEmpty)
        try stage.start(.pagesOfOne, in: FaultArea(environment: .development, scope: .private, zoneID: notes))
        #expect(try await stage.door.zoneChanges(ZoneChangesRequest(notes)).changes.count == 1)
    }

    @Test func aRequestAsksForItself() async throws {
        let stage = try await stage()
        let scope = RequestFaults(asking: [.pagesOfOne, .laggingIndex])
        #expect(try await stage.door(scope).zoneChanges(ZoneChangesRequest(notes)).changes.count == 1)
        #expect(scope.shaped == [.pagesOfOne])
        #expect(try await stage.door.zoneChanges(ZoneChangesRequest(notes)).changes.count == 4)
        try stage.start(.pagesOfOne, .zoneBusy)
        let exempt = RequestFaults(isExempt: true)
        #expect(try await stage.door(exempt).zoneChanges(ZoneChangesRequest(notes)).changes.count == 4)
        #expect(exempt.shaped.isEmpty)
    }

    @Test func actsHappenOnce() async throws {
        let stage = try await stage()
        let token = try await stage.plain.pull(notes).token
        let database = try await stage.plain.require(.tellCurrentToken).currentToken()
        try await InjectedFault.expireTokens.perform(in: stage.door, zoneID: nil)
        let expired = await refusal { _ = try await stage.plain.pull(notes, since: token) }
        #expect(expired == TokenCodec.expired)
        let expiredDatabase = await refusal {
            _ = try await stage.plain.databaseChanges(DatabaseChangesRequest(since: database))
        }
        #expect(expiredDatabase == TokenCodec.expired)
        let (renewed, renewedDatabase) = (
            try await stage.plain.pull(notes).token, try await stage.plain.require(.tellCurrentToken).currentToken()
        )
        try await InjectedFault.resetZone.perform(in: stage.door, zoneID: notes)
        #expect(try await stage.plain.pull(notes).changes.isEmpty)
        let reset = await refusal { _ = try await stage.plain.pull(notes, since: renewed) }
        #expect(reset == TokenCodec.expired)
        #expect(
            try await stage.plain.databaseChanges(DatabaseChangesRequest(since: renewedDatabase)).changes.map(\.kind)
                == [.changed])
        try await InjectedFault.purgeZone.perform(in: stage.door, zoneID: notes)
        #expect(
            try await stage.plain.databaseChanges(DatabaseChangesRequest(since: renewedDatabase)).changes.map(\.kind)
                == [.purged])
        for act in [InjectedFault.purgeZone, .resetZone] {
            let error = await refusal { try await act.perform(in: stage.door, zoneID: nil) }
            #expect(error?.code == .badRequest)
        }
        let noAct = await refusal { try await InjectedFault.throttled.perform(in: stage.door, zoneID: nil) }
        #expect(noAct?.code == .badRequest)
        let switched = await refusal { try stage.start(.expireTokens) }
        #expect(switched?.code == .badRequest)
    }
}
