import RecordStore
import Records
import StoreScenarios
import Testing

/// Faults in change feeds: the answers differ, but nothing is lost or duplicated.
@Suite struct FaultFeedTests {
    @Test func pagesOfOne() async throws {
        let stage = try await FaultStage()
        for name in ["a", "b", "c"] as [Name] { try await stage.plain.save(name, in: notes) }
        try stage.start(.pagesOfOne)
        let pages = try await stage.door.pages()
        #expect(pages.map { $0.changes.map(\.name) } == [["a"], ["b"], ["c"]])
        #expect(pages.last?.syncToken == (try await stage.plain.pull(notes).token))
        for result in try await stage.plain.modifyZones([.create(ZoneID(zoneName: "More"))]) { _ = try result.get() }
        let first = try await stage.door.databaseChanges(DatabaseChangesRequest())
        #expect(first.changes.count == 1 && first.moreComing)
        let second = try await stage.door.databaseChanges(DatabaseChangesRequest(since: first.syncToken))
        #expect(second.changes.count == 1 && !second.moreComing)
    }

    @Test func emptyPagesGoOn() async throws {
        let stage = try await FaultStage()
        for name in ["a", "b", "c"] as [Name] { try await stage.plain.save(name, in: notes) }
        try stage.start(.emptyPages)
        let pages = try await stage.door.pages(pageSize: 2)
        #expect(pages.map { $0.changes.map(\.name) } == [[], ["a", "b"], [], ["c"]])
        #expect(pages.map(\.moreComing) == [true, true, true, false])
        #expect(Set(pages.map(\.syncToken)).count == 4)
        // A client that is up to date also reaches the end, with the engine's own token.
        let again = try await stage.door.pages(since: pages.last?.syncToken)
        #expect(again.map(\.changes.count) == [0, 0] && again.map(\.moreComing) == [true, false])
        #expect(again.last?.syncToken == pages.last?.syncToken)
        // Tokens can be used again.
        let repeated = try await stage.door.pages(since: pages[0].syncToken, pageSize: 2)
        #expect(repeated.map { $0.changes.map(\.name) } == [["a", "b"], [], ["c"]])
    }

    @Test func emptyPagesOfTheDatabase() async throws {
        let stage = try await FaultStage()
        try stage.start(.emptyPages)
        let empty = try await stage.door.databaseChanges(DatabaseChangesRequest())
        #expect(empty.changes.isEmpty && empty.moreComing)
        let real = try await stage.door.databaseChanges(DatabaseChangesRequest(since: empty.syncToken))
        #expect(real.changes.map(\.zoneID.zoneName) == ["Notes"] && !real.moreComing)
        #expect(real.syncToken == (try await stage.plain.require(.tellCurrentToken).currentToken()))
    }

    @Test func anEmptyPageIsRefusedWhereThePageWouldBe() async throws {
        let stage = try await FaultStage()
        try await stage.plain.save("a", in: notes)
        let token = try await stage.plain.pull(notes).token
        try await stage.plain.require(.expireTokens).expireTokens()
        try stage.start(.emptyPages, .childrenFirst)
        let expired = await refusal { _ = try await stage.door.pages(since: token) }
        #expect(expired == TokenCodec.expired)
        let missing = await refusal {
            _ = try await stage.door.zoneChanges(ZoneChangesRequest(ZoneID(zoneName: "Missing")))
        }
        #expect(missing?.code == .zoneNotFound)
    }

    @Test func aPullThatHasBegunEndsWhenTheFaultIsOver() async throws {
        let stage = try await FaultStage()
        for name in ["a", "b", "c"] as [Name] { try await stage.plain.save(name, in: notes) }
        try stage.start(.emptyPages, .childrenFirst, .pagesOfOne)
        let begun = try await stage.door.pages(limit: 3)
        #expect(begun.flatMap(\.changes).map(\.name) == ["a"])
        stage.faults.stop()
        let rest = try await stage.door.pages(since: begun.last?.syncToken)
        #expect(rest.flatMap(\.changes).map(\.name) == ["b", "c"])
        #expect(rest.count == 1)
    }

    @Test(arguments: [1, 7, 200])
    func childrenComeFirst(pageSize: Int) async throws {
        let stage = try await FaultStage()
        try await stage.fillWithChat(rooms: 20, messages: 5)
        let plain = try await stage.plain.pull(notes)
        try stage.start(.childrenFirst)
        let given = try await stage.door.pull(notes, pageSize: pageSize)
        try expectChildrenFirst(given.changes)
        #expect(Set(given.changes) == Set(plain.changes) && given.changes.count == plain.changes.count)
        #expect(given.token == plain.token)
    }

    @Test func aFullPullUnderAllOfThemLosesAndDoublesNothing() async throws {
        let stage = try await FaultStage()
        try await stage.fillWithChat(rooms: 12, messages: 4)
        let since = try await stage.plain.pull(notes, pageSize: 30).token
        try await stage.fillWithChat(rooms: 5, messages: 3)
        for token in [nil, since] {
            let plain = try await stage.plain.pull(notes, since: token)
            try stage.start(.pagesOfOne, .emptyPages, .childrenFirst)
            let pages = try await stage.door.pages(since: token)
            #expect(pages.count == 2 * plain.changes.count)
            let changes = pages.flatMap(\.changes)
            try expectChildrenFirst(changes)
            #expect(Set(changes) == Set(plain.changes) && changes.count == plain.changes.count)
            #expect(pages.last?.syncToken == plain.token)
            stage.faults.stop()
        }
    }

    @Test func whatIsSavedMeanwhileComesWithTheNextPull() async throws {
        let stage = try await FaultStage()
        try await stage.fillWithChat(rooms: 3, messages: 3)
        try stage.start(.childrenFirst)
        var state: [Name: String] = [:]
        func take(_ page: ZoneChangesPage) {
            for change in page.changes {
                state[change.name] = change.kind == .deleted ? nil : change.record?.recordChangeTag
            }
        }
        var page = try await stage.door.zoneChanges(ZoneChangesRequest(notes, limit: PageLimit(records: 2)))
        take(page)
        try await stage.plain.delete("Message/1.1", in: notes)
        try await stage.plain.save("Room/2", type: "Room", in: notes)
        try await stage.plain.save("Room/new", type: "Room", in: notes)
        while page.moreComing {
            page = try await stage.door.zoneChanges(
                ZoneChangesRequest(notes, since: page.syncToken, limit: PageLimit(records: 2)))
            take(page)
        }
        for next in try await stage.door.pages(since: page.syncToken) { take(next) }
        let truth = try await stage.plain.pull(notes).changes
        #expect(state == Dictionary(uniqueKeysWithValues: truth.map { ($0.name, $0.record?.recordChangeTag) }))
    }

    @Test func aPullThatIsNotHeldAnyMoreBeginsAgain() async throws {
        let stage = try await FaultStage()
        try await stage.plain.save("a", in: notes)
        let since = try await stage.plain.pull(notes).token
        try await stage.fillWithChat(rooms: 2, messages: 3)
        try stage.start(.childrenFirst)
        let begun = try await stage.door.zoneChanges(
            ZoneChangesRequest(notes, since: since, limit: PageLimit(records: 3)))
        try await stage.beginPulls(256)
        let gone = try #require(begun.changes.first?.name)
        try await stage.plain.delete(gone, in: notes)
        let rest = try await stage.door.pages(since: begun.syncToken)
        let plain = try await stage.plain.pull(notes, since: since)
        #expect(Set(rest.flatMap(\.changes)) == Set(plain.changes))
        #expect(rest.flatMap(\.changes).contains { $0.name == gone && $0.kind == .deleted })
        #expect(rest.last?.syncToken == plain.token)
    }

    /// A restart would omit records that were already returned and deleted since.
    @Test func aFirstPullThatIsNotHeldAnyMoreIsExpired() async throws {
        let stage = try await FaultStage()
        try await stage.fillWithChat(rooms: 2, messages: 3)
        try stage.start(.childrenFirst, .emptyPages)
        let begun = try await stage.door.pages(pageSize: 3, limit: 2)
        let empty = try await stage.door.pages(since: begun.last?.syncToken, pageSize: 3, limit: 1)
        stage.faults.stop(.emptyPages)
        try await stage.beginPulls(256)
        for token in [begun.last?.syncToken, empty.last?.syncToken] {
            let error = await refusal { _ = try await stage.door.pages(since: token) }
            #expect(error == TokenCodec.expired)
        }
    }

    @Test func manyPullsInTurnAllComeToTheirEnd() async throws {
        let stage = try await FaultStage()
        try await stage.fillWithChat(rooms: 2, messages: 3)
        let count = try await stage.plain.pull(notes).changes.count
        try stage.start(.childrenFirst)
        var requests = Array(repeating: ZoneChangesRequest(notes, limit: PageLimit(records: 1)), count: 50)
        for turn in 1...count {
            for index in requests.indices {
                let page = try await stage.door.zoneChanges(requests[index])
                requests[index].since = page.syncToken
                #expect(page.changes.count == 1 && page.moreComing == (turn < count))
            }
        }
    }

    @Test(arguments: [
        [1], [2] + Array(repeating: UInt8(0), count: 12), [3], [], [2, 0],
    ])
    func madeUpTokensAreRefused(part: [UInt8]) async throws {
        let stage = try await FaultStage()
        try await stage.plain.save("a", in: notes)
        try stage.start(.childrenFirst, .emptyPages)
        let mark = Array("Rhrs".utf8)
        for times in [2, 3, 30, 700_000 / (mark.count + part.count)] {
            let token = ChangeToken(bytes: Array(repeatElement(mark + part, count: times).joined()) + mark)
            let errors = [
                await refusal { _ = try await stage.door.pages(since: token) },
                await refusal { _ = try await stage.door.databaseChanges(DatabaseChangesRequest(since: token)) },
                await refusal { _ = try await stage.door.require(.explainTokens).explain(token) },
            ]
            #expect(errors.allSatisfy { $0 == TokenCodec.foreign })
        }
    }

    @Test func theEndOfTheZoneEndsItsOrderedPull() async throws {
        let stage = try await FaultStage()
        try await stage.fillWithChat(rooms: 2, messages: 3)
        try stage.start(.childrenFirst)
        let begun = try await stage.door.zoneChanges(ZoneChangesRequest(notes, limit: PageLimit(records: 3)))
        try await InjectedFault.resetZone.perform(in: stage.plain, zoneID: notes)
        let error = await refusal { _ = try await stage.door.pages(since: begun.syncToken) }
        #expect(error == TokenCodec.expired)
    }

    @Test func onlyTheDesiredFieldsAndTypesAreGiven() async throws {
        let stage = try await FaultStage()
        try await stage.fillWithChat(rooms: 2, messages: 3)
        try stage.start(.childrenFirst)
        var request = ZoneChangesRequest(
            notes, limit: PageLimit(records: 2), desiredKeys: ["replyTo"], desiredRecordTypes: ["Message"])
        var changes: [RecordChange] = []
        var page: ZoneChangesPage
        repeat {
            page = try await stage.door.zoneChanges(request)
            changes += page.changes
            request.since = page.syncToken
        } while page.moreComing
        #expect(changes.count == 6 && changes.allSatisfy { $0.record?.recordType == "Message" })
        #expect(try changes.flatMap { try $0.record?.fields.decoded() ?? [] }.allSatisfy { $0.name == "replyTo" })
    }

    @Test func aDeletedZoneIsListedAsChanged() async throws {
        let stage = try await FaultStage()
        let token = try await stage.plain.require(.tellCurrentToken).currentToken()
        for result in try await stage.plain.modifyZones([.delete(notes)]) { _ = try result.get() }
        try stage.start(.deletedZoneChanged)
        let listed = try await stage.door.databaseChanges(DatabaseChangesRequest(since: token))
        #expect(listed.changes.map(\.kind) == [.changed] && listed.changes.map(\.zoneID.zoneName) == ["Notes"])
        let error = await refusal { _ = try await stage.door.zoneChanges(ZoneChangesRequest(notes)) }
        #expect(error?.code == .zoneNotFound)
        #expect(try await stage.door.databaseChanges(DatabaseChangesRequest(since: listed.syncToken)).changes.isEmpty)
        #expect(
            try await stage.plain.databaseChanges(DatabaseChangesRequest(since: token)).changes.map(\.kind) == [
                .deleted
            ])
    }

    @Test func tokensOfAPullWithFaultsAreExplained() async throws {
        let stage = try await FaultStage()
        for name in ["a", "b", "c"] as [Name] { try await stage.plain.save(name, in: notes) }
        try stage.start(.emptyPages)
        let pages = try await stage.door.pages(pageSize: 1)
        #expect(try await stage.door.require(.explainTokens).explain(pages[0].syncToken).validity == .good)
        let explained = try await stage.door.require(.explainTokens).explain(pages[2].syncToken)
        #expect(explained == (try await stage.plain.require(.explainTokens).explain(pages[1].syncToken)))
        #expect(explained.changesAfter == 2)
    }

    /// Checks that no record comes after its parent, or after the target of a reference with an action.
    private func expectChildrenFirst(_ changes: [RecordChange]) throws {
        let places = Dictionary(uniqueKeysWithValues: zip(changes.map(\.name), changes.indices))
        var checked = 0
        for (index, change) in changes.enumerated() where change.kind != .deleted {
            var targets = [change.record?.parent].compactMap(\.self)
            for field in try change.record?.fields.decoded() ?? [] {
                if case .reference(let reference) = field.value, reference.action != .none {
                    targets.append(reference.recordName)
                }
            }
            for place in targets.compactMap({ places[$0] }) {
                #expect(place > index, "\(change.name) at \(index) comes after \(changes[place].name)")
                checked += 1
            }
        }
        #expect(checked > 5)
    }
}
