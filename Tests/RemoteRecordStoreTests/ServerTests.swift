import Accounts
import Foundation
import InMemoryRecordStore
import RecordStore
import Records
import RemoteRecordStore
import StoreScenarios
import Synchronization
import TestSupport
import Testing

/// Server-wide services, and behavior that only shows over the network.
@Suite struct ServerTests {
    @Test func containersAndUsersAreKnown() async throws {
        try await LiveServer.run { url in
            let engine = try RemoteRecordEngine(url: url)
            #expect(try await engine.require(.listContainers).containers().isEmpty)
            let developer = try await engine.accounts.caller(named: nil, deviceID: nil)
            let anna = try await engine.accounts.caller(named: "anna & é=", deviceID: "Ännas iPad 💬")
            #expect(developer.deviceID == "iCloud" && anna.deviceID == "Ännas iPad 💬")
            #expect(
                try await engine.accounts.caller(named: "anna & é=", deviceID: nil).userRecordName
                    == anna.userRecordName)
            #expect(
                try await engine.accounts.caller(named: anna.userRecordName.string, deviceID: nil).userRecordName
                    == anna.userRecordName)
            let users = try await engine.accounts.seenUsers().map(\.user)
            #expect(users.map(\.handle) == ["developer", "anna & é="])
            #expect(users.map(\.userRecordName) == [developer.userRecordName, anna.userRecordName])
            let saved = try await engine.full(.private, as: anna).save("r")
            #expect(saved.created.userRecordName == anna.userRecordName && saved.created.deviceID == "Ännas iPad 💬")
            #expect(
                try await engine.require(.listContainers).containers().map(\.description) == ["iCloud.com.example.Test"]
            )
            await engine.close()
        }
    }

    /// Behind the server is a store that tells only what CloudKit's protocol does. Nothing is made up on the way.
    @Test func whatTheStoreDoesNotTellIsAbsent() async throws {
        let memory = InMemoryRecordEngine()
        let inside = try await memory.withZone()
        for name: Name in ["kept", "gone"] { try await inside.save(name, in: notes) }
        let token = try await inside.pull(notes).token
        try await inside.delete("gone", in: notes)
        let asset = try await memory.upload(1, for: "kept", at: Timestamp.now())
        try await inside.save("kept", in: notes, ["file": .asset(asset)])
        try await LiveServer.run(on: ProtocolOnlyEngine(memory)) { url in
            let engine = try RemoteRecordEngine(url: url)
            let database = try await engine.full(.private)
            let changes = try await database.pull(notes, since: token).changes
            #expect(changes.map(\.recordID.recordName) == ["gone", "kept"] && changes.map(\.kind) == [.deleted, nil])
            #expect(
                changes.allSatisfy { $0.position == nil } && changes.first?.record == nil && changes.last?.record != nil
            )
            // The store behind keeps no files, so the asset has no address.
            let record = try await database.fetch([RecordID(recordName: "kept", zoneID: notes)], desiredKeys: nil)[0]
                .get()
            for fields in [record.fields, try #require(changes.last?.record).fields] {
                #expect(try fields.assets().map(\.asset.size) == [10])
            }
            let zones = try await database.databaseChanges(DatabaseChangesRequest()).changes
            #expect(zones.map(\.zoneID.zoneName) == [notes.zoneName] && zones.map(\.timestamp) == [nil])
            let refused = await refusal { _ = try await database.require(.countRecords).counts(in: notes) }
            #expect(refused == RecordError(.badRequest, "CloudKit can't \(Capability.countRecords.task)"))
            await engine.close()
        }
    }

    @Test func accountsAreThoseOfTheServer() async throws {
        try await LiveServer.run { url in
            let engine = try RemoteRecordEngine(url: url)
            let accounts = engine.accounts
            let container = try #require(ContainerID("iCloud.com.example.Test"))
            let (token, secret) = try await accounts.makeAPIToken(
                named: "App", container: container, environment: .production, allowedOrigins: ["http://localhost:3000"],
                callback: "http://localhost:3000/in")
            #expect(secret.utf8.count == 64 && token.isLive && token.name == "App" && token.environment == .production)
            #expect(
                token.container == container && token.allowedOrigins == ["http://localhost:3000"]
                    && token.callback == "http://localhost:3000/in")
            #expect(try await accounts.apiTokens() == [token])
            let request = SignInRequest(container: container, environment: .production, apiTokenID: token.id)
            let (session, webAuthToken) = try await accounts.signIn("ada", with: request, keepSignedIn: true)
            #expect(
                !webAuthToken.isEmpty && session.apiTokenID == token.id && session.keepsSignedIn
                    && session.revoked == nil)
            #expect(try await accounts.webAuthSessions() == [session])
            #expect(
                try await accounts.seenUsers().first { $0.user.handle == "ada" }?.user.userRecordName == session.user)
            #expect(try await accounts.revokeAPIToken(token.id).revoked != nil)
            #expect(try await accounts.apiTokens().map(\.isLive) == [false])
            #expect(try await accounts.webAuthSessions().map(\.id) == [session.id])
            #expect(try await accounts.webAuthSessions().first?.revoked != nil)
            let (removed, endedSessions) = try await accounts.removeUser(named: "ada")
            #expect(removed.handle == "ada" && endedSessions == 0)
            #expect(try await accounts.seenUsers().allSatisfy { $0.user.handle != "ada" })
            #expect(await refusal { _ = try await accounts.revokeServerKey("none") }?.code == .notFound)
            await engine.close()
        }
    }

    @Test func aCallerOfAnotherFormIsRefused() async throws {
        try await LiveServer.run { url in
            let engine = try RemoteRecordEngine(url: url)
            for caller in [
                Caller(userRecordName: "ada"), Caller(userRecordName: "_ADA00000000000000000000000000000"),
                Caller(userRecordName: ada.userRecordName, deviceID: "a\r\nb"),
                Caller(userRecordName: ada.userRecordName, access: .anonymous),
            ] {
                let refused = await refusal { _ = try await engine.full(.private, as: caller) }
                #expect(refused?.code == .badRequest)
            }
            await engine.close()
        }
    }

    @Test func theOwnerMayDoEverythingAndAUserWhatRolesGrant() async throws {
        try await LiveServer.run { url in
            let engine = try RemoteRecordEngine(url: url)
            try await engine.full(.public, as: ada).save("r")
            let user = try await engine.full(
                .public, as: Caller(userRecordName: grace.userRecordName, access: .signedIn))
            let refused = await refusal { try await user.save("r") }
            #expect(refused == RecordError(.accessDenied, "WRITE operation not permitted"))
            try await user.save("own")
            try await engine.full(.public, as: grace).save("r")
            await engine.close()
        }
    }

    @Test func pagesOfEverySizeHoldWhatTheCallersRolesGrant() async throws {
        try await LiveServer.run { url in
            let engine = try RemoteRecordEngine(url: url)
            let owner = try await engine.full(.public)
            try await owner.save("theirs", type: "Letter", ["text": .string("theirs")])
            try await owner.edit(
                .setIndexes(.queryable, of: .system(.recordID), in: "Letter"),
                .setGrants(
                    [
                        Grant(role: "_icloud", permissions: [.create]),
                        Grant(role: "_creator", permissions: [.read, .write]),
                    ], of: "Letter"))
            let address = try address(.public)
            let user = try await engine.database(
                address, as: Caller(userRecordName: grace.userRecordName, access: .signedIn))
            let names = (0..<5).map { Name("own\($0)") }
            let text = FieldValue.string(String(repeating: "x", count: 1000))
            for name in names { try await user.save(name, type: "Letter", ["text": text]) }
            let limits = [
                PageLimit(records: 10), PageLimit(records: 200), PageLimit(records: 1000),
                PageLimit(records: 1000, bytes: 2500), PageLimit(records: 3, bytes: 1),
            ]
            for limit in limits {
                var (found, pages, request) = ([Name](), 0, QueryRequest(Query(recordType: "Letter"), limit: limit))
                repeat {
                    let page = try await user.query(request)
                    found += page.records.map(\.recordID.recordName)
                    request.continuationMarker = page.continuationMarker
                    pages += 1
                } while request.continuationMarker != nil && pages < 20
                #expect(found.sorted() == names, "\(limit)")
            }
            // The server does not check roles for explanations, so the client refuses them.
            let refused = await refusal {
                _ = try await user.require(.explainQueries).explain(QueryRequest(Query(recordType: "Letter")))
            }
            #expect(refused?.code == .accessDenied)
            await engine.close()
        }
    }

    @Test func healthNamesTheStoreThatIsReadOnly() async throws {
        let container = try address(.private).container
        let sick = StoreHealth(
            container: container, environment: .production,
            readOnlyBecause: RecordError(.tryAgainLater, "The disk failed", retryAfter: 60))
        let well = StoreHealth(container: container, environment: .development, readOnlyBecause: nil)
        for stores in [[], [well], [well, sick]] {
            try await LiveServer.run(on: ReportingEngine(stores: stores)) { url in
                let engine = try RemoteRecordEngine(url: url)
                #expect(try await engine.require(.reportHealth).health() == stores)
                await engine.close()
            }
        }
    }

    @Test func moreThanARequestMayHoldGoesInSeveral() async throws {
        try await LiveServer.run { url in
            let engine = try RemoteRecordEngine(url: url)
            let database = try await engine.full(.private)
            let names = (0..<450).map { Name("r\($0)") }
            for start in stride(from: 0, to: 450, by: 150) {
                let batch = names[start..<start + 150].map {
                    RecordOperation(.create, recordName: $0, recordType: "Item")
                }
                #expect(try await database.outcomes(batch).allSatisfy { $0 == nil })
            }
            let found = try await database.fetch(
                (["none"] + names.reversed()).map { RecordID(recordName: $0) }, desiredKeys: nil)
            #expect(found.first == .failure(.recordNotFound))
            #expect(try found.dropFirst().map { try $0.get().recordID.recordName } == names.reversed())
            let operations = (0..<230).map { ZoneOperation.create(ZoneID(zoneName: Name("Z\($0)"))) }
            #expect(try await database.modifyZones(operations).count == 230)
            #expect(try await database.zones().count == 231)
            #expect(try await database.fetchZones(operations.map(\.zoneID)).count == 230)
            try await database.edit(.setIndexes(.queryable, of: .system(.recordID), in: "Item"))
            let all = try await database.query(QueryRequest(Query(recordType: "Item"), limit: PageLimit(records: 450)))
            #expect(all.records.count == 450 && all.continuationMarker == nil)
            await engine.close()
        }
    }

    @Test func everyKindOfValueComesBackAsItWas() async throws {
        try await LiveServer.run { url in
            let engine = try RemoteRecordEngine(url: url)
            let database = try await engine.withZone()
            var place = Location(latitude: -90, longitude: 180)
            place.horizontalAccuracy = 0.5
            place.timestamp = Timestamp(milliseconds: 5)
            let values: [Name: FieldValue] = [
                "text": .string("\u{0}\u{1F}\"\\é e\u{301} 💬\u{2028}"), "empty": .string(""), "integer": .int64(.min),
                "one": .double(1), "tiny": .double(.leastNonzeroMagnitude),
                "data": .bytes([0, 255, 10]), "when": .timestamp(Timestamp(milliseconds: -1)),
                "place": .location(place),
                "link": .reference(
                    Reference(
                        recordName: "é/e\u{301}",
                        zoneID: ZoneID(zoneName: "Other", ownerRecordName: grace.userRecordName))),
                "words": .list([.string("a"), .string("")], of: .string),
                "numbers": .list([.double(1), .double(-0.5)], of: .double),
            ]
            let saved = try await database.save("r", in: notes, values)
            #expect(try saved.fields.values(of: Set(values.keys)) == values)
            let found = try await database.fetch([RecordID(recordName: "r", zoneID: notes)], desiredKeys: nil)[0].get()
            #expect(found == saved)
            let page = try await database.zoneChanges(ZoneChangesRequest(notes))
            #expect(page.changes.map(\.record) == [saved])
            #expect(try await database.require(.listRecords).list(RecordListRequest(notes)).records == [saved])
            let file = FieldValue.asset(Asset(fileChecksum: "abc", size: 12, receipt: "none"))
            let asset = await refusal { try await database.save("f", in: notes, ["file": file]) }
            #expect(
                asset?.reason.hasPrefix("The receipt of the asset in field 'file' is not from this database") == true)
            let infinite = await refusal { try await database.save("r", in: notes, ["one": .double(.infinity)]) }
            #expect(infinite?.code == .badRequest)
            let secret = RecordOperation(
                .create, recordName: "s", recordType: "Item",
                fields: ["secret": FieldInput(.string("x"), isEncrypted: true)])
            #expect(try await database.outcomes([secret], in: notes) == [nil])
            #expect(
                try await database.require(.showSchema).schema().types["Item"]?.fields["secret"]?.type.isEncrypted
                    == true)
            await engine.close()
        }
    }

    @Test func aRestoredRecordKeepsWhoMadeItWhen() async throws {
        try await LiveServer.run { url in
            let engine = try RemoteRecordEngine(url: url)
            let database = try await engine.withZone()
            let provenance = Provenance(
                created: Signature(
                    timestamp: Timestamp(milliseconds: 1000), userRecordName: grace.userRecordName, deviceID: "Mac"),
                modified: Signature(
                    timestamp: Timestamp(milliseconds: 2000), userRecordName: mary.userRecordName, deviceID: "é"))
            let operation = RecordOperation(
                .create, recordName: "r", recordType: "Item", parent: .record("p"), provenance: provenance)
            let outcome = try await database.modify(ModifyRequest([operation], zoneID: notes))[0].get()
            guard case .saved(let record) = outcome else { return #expect(Bool(false)) }
            #expect(
                record.created == provenance.created && record.modified == provenance.modified && record.parent == "p")
            await engine.close()
        }
    }

    /// Concurrent savers and several followers: each follower sees every name once.
    @Test func followingMissesNothing() async throws {
        try await LiveServer.run { url in
            let engine = try RemoteRecordEngine(url: url)
            let database = try await engine.withZone()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        var (seen, token) = ([Name](), nil as ChangeToken?)
                        for await _ in try database.require(.signalCommits).commits() {
                            let (changes, reached) = try await database.pull(notes, since: token, pageSize: 7)
                            seen += changes.map(\.recordID.recordName)
                            token = reached
                            if seen.count >= 200 { break }
                        }
                        #expect(seen.count == 200 && Set(seen).count == 200)
                    }
                }
                for saver in 0..<4 {
                    group.addTask {
                        for number in 0..<50 { try await database.save(Name("r\(saver)-\(number)"), in: notes) }
                    }
                }
                try await group.waitForAll()
            }
            let played = try await database.pull(notes, pageSize: 30).changes.map(\.recordID.recordName)
            #expect(played.count == 200 && Set(played).count == 200)
            await engine.close()
        }
    }

    /// Enough records that the index is built in the background. A query after waiting works; without waiting it is
    /// told to try again.
    @Test func whoWaitsForAnIndexCanQueryAtOnce() async throws {
        try await LiveServer.run { url in
            let engine = try RemoteRecordEngine(url: url)
            let database = try await engine.withZone()
            for start in stride(from: 0, to: 8000, by: 200) {
                let operations = (start..<start + 200).map { number in
                    RecordOperation(
                        .create, recordName: Name("r\(number)"), recordType: "Item",
                        fields: ["n": FieldInput(.int64(Int64(number)))])
                }
                #expect(try await database.outcomes(operations, in: notes).allSatisfy { $0 == nil })
            }
            let query = QueryRequest(
                Query(recordType: "Item", filters: [.init("n", .lessThan, FieldInput(.int64(3)))]), in: .zone(notes))
            let names = [Name("r0"), "r1", "r2"]
            var refusals = 0
            for round in 0..<20 where round < 3 || refusals == 0 {
                try await database.edit(.setIndexes([], of: .custom("n"), in: "Item"))
                let unserved = await refusal { _ = try await database.query(query) }
                #expect(unserved?.reason == "Type is not marked indexable: Item")
                // The removal of the index may still be in progress when it is added again.
                _ = try await database.require(.editSchema).edit(
                    [.setIndexes(.queryable, of: .custom("n"), in: "Item")], because: .edit,
                    waitingForIndexes: round % 3 > 0)
                if round % 3 == 0 {
                    // On a busy machine it may be complete before the query arrives.
                    if let refused = await refusal({ _ = try await database.query(query) }) {
                        #expect(refused.code == .tryAgainLater && refused.retryAfter ?? 0 > 0)
                        refusals += 1
                    }
                    try await database.edit(.setIndexes(.queryable, of: .custom("n"), in: "Item"))
                }
                #expect(Set(try await database.query(query).records.map(\.recordID.recordName)) == Set(names))
                #expect(try await database.require(.showSchema).indexBuilds().isEmpty)
            }
            #expect(refusals > 0, "nobody had to wait")
            await engine.close()
        }
    }

    /// Followers are woken again when the server is back.
    @Test func signalsOutliveTheServer() async throws {
        let store = InMemoryRecordEngine()
        let place = Mutex<URL?>(nil)
        try await LiveServer.run(on: store) { url in place.withLock { $0 = url } }
        let url = try #require(place.withLock { $0 })
        let engine = try RemoteRecordEngine(url: url)
        let database = try await store.withZone()
        let failed = Mutex(0)
        let following = Task {
            var names: [Name] = []
            let remote = try await engine.full(.private)
            for await _ in try remote.require(.signalCommits).commits() {
                // Without a server, a signal arrives but the read fails.
                guard let changes = try? await remote.pull(notes).changes, !changes.isEmpty else {
                    failed.withLock { $0 += 1 }
                    continue
                }
                names = changes.map(\.recordID.recordName)
                break
            }
            return names
        }
        try await eventually { failed.withLock { $0 } > 0 }
        try await database.save("meanwhile", in: notes)
        let port = try #require(url.port)
        try await LiveServer.run(on: store, port: port) { _ in
            let names = try await following.value
            #expect(names == ["meanwhile"])
        }
        await engine.close()
    }
}

private struct ReportingEngine: RecordEngine, HealthReporting, ContainerListing {
    let stores: [StoreHealth]

    func health() async -> [StoreHealth] { stores }
    func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase {
        throw RecordError(.internalError, "none")
    }
    func containers() async throws -> [ContainerID] { [] }
    func environments(of container: ContainerID) async throws -> [Records.Environment] { [] }
    func close() async {}
}
