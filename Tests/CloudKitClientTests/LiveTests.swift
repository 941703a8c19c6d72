import Foundation
import HTTPServing
import NIOCore
import RecordStore
import Records
import Synchronization
import TestSupport
import Testing

@testable import CloudKitClient

/// All families of services against a real server that requires credentials.
@Suite struct LiveTests {
    private static let zone = ZoneID(zoneName: "Notes")

    private static func note(_ number: Int) -> RecordOperation {
        RecordOperation(
            .create, recordName: Name("note\(number)"), recordType: "Note",
            fields: ["title": FieldInput(.string("Note \(number)")), "rank": FieldInput(.int64(Int64(number)))])
    }

    private static func fill(_ database: DatabaseClient, _ count: Int) async throws {
        for result in try await database.modifyZones([.create(zone)]) { _ = try result.get() }
        for result in try await database.modify((0..<count).map(note), in: zone, atomic: false) { _ = try result.get() }
    }

    @Test func recordsAreSavedFoundAndFollowed() async throws {
        try await LiveContainer.run { live in
            try await live.user { client in
                let database = client.database(.private)
                try await Self.fill(database, 250)
                let looked = try await database.lookup(
                    ["note7", "none", "note249"], in: Self.zone, desiredKeys: ["rank"])
                let seven = try looked[0].get()
                #expect(
                    seven.fields.mapValues(\.value) == ["rank": .int64(7)] && seven.recordType == "Note"
                        && seven.recordChangeTag != nil)
                #expect(seven.created?.userRecordName != nil && seven.recordID.zoneID.zoneName == "Notes")
                #expect(throws: ServerError(codeName: "NOT_FOUND", reason: "Record not found", recordName: "none")) {
                    try looked[1].get()
                }

                let query = Query(
                    recordType: "Note", filters: [.init("rank", .greaterThanOrEquals, FieldInput(.int64(5)))],
                    sorts: [.init("rank", ascending: false)])
                var ranks: [FieldValue?] = []
                var sizes: [Int] = []
                for try await page in database.queryPages(query, in: .zone(Self.zone), limit: 100) {
                    sizes.append(page.records.count)
                    ranks += try page.records.map { try $0.get().fields["rank"]?.value }
                }
                #expect(sizes == [100, 100, 45] && ranks == (5..<250).reversed().map { .int64(Int64($0)) })

                var names: Set<Name> = []
                var token: SyncToken?
                for try await page in database.zoneChangesPages(ZonePull(Self.zone, limit: 90, desiredKeys: [])) {
                    for change in page.changes {
                        guard case .saved(let record) = change else { return unexpected(change) }
                        #expect(record.fields.isEmpty)
                        names.insert(record.recordID.recordName)
                    }
                    token = page.syncToken
                }
                #expect(names.count == 250)
                let changed = try await database.modify(
                    [
                        RecordOperation(.forceDelete, recordName: "note3"),
                        RecordOperation(
                            .update, recordName: "note7", recordType: "Note", recordChangeTag: seven.recordChangeTag),
                    ],
                    in: Self.zone, atomic: true)
                #expect(changed.allSatisfy { (try? $0.get()) != nil })
                let delta = try await database.zoneChanges([ZonePull(Self.zone, since: token)])[0].get()
                #expect(delta.changes.count == 2 && !delta.moreComing)
                let deleted = delta.changes.compactMap { change -> ReceivedDeletion? in
                    if case .deleted(let deletion) = change { deletion } else { nil }
                }
                #expect(deleted.map(\.recordID.recordName) == ["note3"])

                let feed = try await database.databaseChanges()
                #expect(feed.zones.map(\.zoneID.zoneName) == ["Notes"] && !feed.moreComing)
                #expect(try await database.databaseChanges(since: feed.syncToken).zones.isEmpty)
                let zone = try #require(try await database.zones().first { $0.zoneID.zoneName == "Notes" })
                #expect(zone.atomic == true && zone.syncToken != nil)
                #expect(
                    try await database.zoneChanges([ZonePull(Self.zone, since: zone.syncToken)])[0].get().changes
                        .isEmpty)
                #expect(
                    try await database.lookupZones([Self.zone, ZoneID(zoneName: "None")]).map { (try? $0.get()) != nil }
                        == [true, false])
            }
        }
    }

    @Test func itemsFailAloneOrTogether() async throws {
        try await LiveContainer.run { live in
            try await live.user { client in
                let database = client.database(.private)
                try await Self.fill(database, 2)
                let stale = RecordOperation(.update, recordName: "note1", recordType: "Note", recordChangeTag: "zzz")
                for (atomic, codes) in [(false, ["CONFLICT", nil]), (true, ["CONFLICT", "ATOMIC_ERROR"])]
                    as [(Bool, [String?])]
                {
                    let results = try await database.modify(
                        [stale, Self.note(atomic ? 11 : 10)], in: Self.zone, atomic: atomic)
                    let found = results.map { result -> String? in
                        if case .failure(let error) = result { error.codeName } else { nil }
                    }
                    #expect(found == codes)
                }
                let refused = await failure {
                    _ = try await database.query(Query(recordType: "Note"), in: .zone(Self.zone))
                }
                #expect(
                    refused?.serverError?.reason == "Field 'recordName' is not marked queryable"
                        && refused?.serverError?.code == .badRequest)
            }
        }
    }

    @Test func anExpiredTokenIsTheZonesError() async throws {
        try await LiveContainer.run { live in
            try await live.user { client in
                let database = client.database(.private)
                try await Self.fill(database, 1)
                let token = try await database.zoneChanges([ZonePull(Self.zone)])[0].get().syncToken
                _ = try await database.modifyZones([.delete(Self.zone)])
                #expect(try await database.databaseChanges().zones.allSatisfy(\.isDeleted))
                _ = try await database.modifyZones([.create(Self.zone)])
                let pages = try await database.zoneChanges([
                    ZonePull(Self.zone, since: token), ZonePull(Self.zone),
                    ZonePull(Self.zone, since: SyncToken("garbage")),
                ])
                let reasons = pages.map { page -> String? in
                    if case .failure(let error) = page { error.reason } else { nil }
                }
                #expect(
                    reasons == [
                        "client knowledge differs from server knowledge", nil, "Unknown sync continuation type",
                    ])
            }
        }
    }

    // MARK: Credentials

    @Test func webAuthTokensRotate() async throws {
        try await LiveContainer.run { live in
            try await live.user { client in
                let database = client.database(.private)
                try await Self.fill(database, 1)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<20 { group.addTask { try await database.read() } }
                    try await group.waitForAll()
                }
                guard case .webAuth(_, let credential) = client.credentials.kind else {
                    return unexpected("another credential")
                }
                #expect(
                    live.stage.keptTokens.last == credential.token.text && Set(live.stage.keptTokens).count > 2
                        && !credential.takesTurns)
            }
        }
    }

    @Test func aServerKeyReachesThePublicDatabase() async throws {
        try await LiveContainer.run { live in
            try await live.serverKey { client in
                let saved = try await client.database(.public).modify([Self.note(1)], atomic: false)[0].get()
                guard case .saved(let record) = saved else { return unexpected(saved) }
                let found = try await client.database(.public).query(
                    Query(recordType: "Note", filters: [.init("rank", .equals, FieldInput(.int64(1)))]))
                #expect(try found.records.map { try $0.get().recordID } == [record.recordID])
                let refused = await failure { try await client.database(.private).read() }
                guard case .refused(let error)? = refused?.kind else { return unexpected(refused as Any) }
                #expect(error.uuid != nil)
            }
        }
    }

    @Test func anAPITokenAloneIsSentToTheSignIn() async throws {
        try await LiveContainer.run { live in
            try await live.client(.apiToken(live.apiToken)) { client in
                let refused = await failure { try await client.database(.private).read() }
                #expect(
                    refused?.serverError?.code == .authenticationRequired
                        && refused?.signInURL?.hasPrefix(live.address) == true)
            }
            try await live.client(.apiToken(String(repeating: "0", count: 64))) { client in
                let refused = await failure { try await client.database(.public).read() }
                #expect(refused?.serverError?.code == .authenticationFailed)
            }
        }
    }

    @Test func usersAreFound() async throws {
        try await LiveContainer.run { live in
            try await live.user("Ben") { _ in }
            try await live.user { container in
                let client = container.database(.private)
                let caller = try await client.caller()
                let current = try await client.currentUser()
                #expect(
                    caller.givenName == "Anna" && caller.userRecordName == current.userRecordName
                        && current.emailAddress == "anna@example.com")
                let looked = try await client.lookupUsers(emailAddresses: ["ben@example.com", "nobody@example.com"])
                let ben = try looked[0].get()
                #expect(ben.givenName == "Ben" && (try? looked[1].get()) == nil)
                #expect(try await client.lookupUsers([try #require(ben.userRecordName)])[0].get().givenName == "Ben")
                #expect(
                    try await client.discoverUsers([.userRecordName(try #require(ben.userRecordName))])[0].get()
                        .emailAddress == "ben@example.com")
                #expect(try await client.discoverUsers().contains { $0.givenName == "Ben" })
            }
        }
    }

    // MARK: Assets

    @Test func filesGoUpAndComeBack() async throws {
        let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
        try await LiveContainer.run { live in
            try await live.user { client in
                let database = client.database(.private)
                try await Self.fill(database, 0)
                let slot = try await database.uploadSlots(
                    [UploadRequest(recordType: "Photo", fieldName: "file", recordName: "p")], in: Self.zone)[0].get()
                let asset = try await database.upload(to: slot, size: Int64(bytes.count)) {
                    AsyncStream<ByteBuffer> { continuation in
                        for start in stride(from: 0, to: bytes.count, by: 65_536) {
                            continuation.yield(ByteBuffer(bytes: bytes[start..<min(start + 65_536, bytes.count)]))
                        }
                        continuation.finish()
                    }
                }
                #expect(asset.size == 3_000_000 && asset.receipt != nil)
                let save = RecordOperation(
                    .create, recordName: slot.recordName, recordType: "Photo",
                    fields: [slot.fieldName: FieldInput(.asset(asset))])
                _ = try await database.modify([save], in: Self.zone, atomic: true)[0].get()
                let record = try await database.lookup(["p"], in: Self.zone)[0].get()
                let received = try #require(record.fields["file"]?.assets.first)
                let last = Mutex<TransferProgress?>(nil)
                for offset in [0, 2_999_990] as [Int64] {
                    var found: [UInt8] = []
                    for try await part in try database.download(
                        received, from: offset, progress: { progress in last.withLock { $0 = progress } })
                    {
                        found += Array(part.readableBytesView)
                    }
                    #expect(
                        found.elementsEqual(bytes[Int(offset)...])
                            && last.withLock { $0 } == TransferProgress(bytes: 3_000_000, size: 3_000_000))
                }
            }
        }
    }

    // MARK: A bad day

    @Test func failuresOnTheWayDoNotShow() async throws {
        try await LiveContainer.run { live in
            try await live.user { client in
                let database = client.database(.private)
                try await Self.fill(database, 5)
                for fault in [InjectedFault.throttled, .tryAgainLater, .zoneBusy, .droppedBefore, .droppedAfter] {
                    try live.inject(fault, count: 2)
                    #expect(
                        try await database.lookup(["note1"], in: Self.zone)[0].get().recordID.recordName == "note1",
                        "\(fault)")
                    try live.inject(fault, count: 2)
                    #expect(
                        try await database.zoneChanges([ZonePull(Self.zone)])[0].get().changes.count == 5, "\(fault)")
                }
                for fault in [InjectedFault.throttled, .tryAgainLater, .zoneBusy] {
                    try live.inject(fault, count: 2)
                    _ = try await database.modify(
                        [RecordOperation(.forceUpdate, recordName: "note1", recordType: "Note")], in: Self.zone,
                        atomic: true)[0].get()
                }
                #expect(live.stage.time.pauses.count >= 26)
            }
        }
    }

    @Test func aSaveWithoutAnAnswerIsReported() async throws {
        try await LiveContainer.run { live in
            try await live.user { client in
                let database = client.database(.private)
                try await Self.fill(database, 0)
                for (fault, number, isThere) in [(InjectedFault.droppedBefore, 1, false), (.droppedAfter, 2, true)] {
                    try live.inject(fault, count: 1)
                    let lost = await failure {
                        _ = try await database.modify([Self.note(number)], in: Self.zone, atomic: true)
                    }
                    guard case .answerLost? = lost?.kind else { return unexpected(lost as Any) }
                    let found = try await database.lookup([Name("note\(number)")], in: Self.zone)[0]
                    #expect(((try? found.get()) != nil) == isThere)
                }
                try live.inject(.droppedAfter, count: 1)
                let save = RecordOperation(
                    .forceReplace, recordName: "note3", recordType: "Note", fields: ["rank": FieldInput(.int64(3))])
                _ = try await database.modify([save], in: Self.zone, atomic: true, ifAnswerIsLost: .repeatIfHarmless)[0]
                    .get()
            }
        }
    }

    @Test(arguments: [InjectedFault.pagesOfOne, .emptyPages, .childrenFirst])
    func pagesOfEveryKindAreFollowed(fault: InjectedFault) async throws {
        try await LiveContainer.run { live in
            try await live.user { client in
                let database = client.database(.private)
                try await Self.fill(database, 7)
                try live.inject(fault)
                var changes = 0
                var records = 0
                var zones = 0
                for try await page in database.zoneChangesPages(ZonePull(Self.zone, limit: 3)) {
                    changes += page.changes.count
                }
                let query = Query(recordType: "Note", filters: [.init("rank", .lessThan, FieldInput(.int64(100)))])
                for try await page in database.queryPages(query, in: .zone(Self.zone), limit: 3) {
                    records += page.records.count
                }
                for try await page in database.databaseChangesPages() { zones += page.zones.count }
                #expect(changes == 7 && records == 7 && zones == 1)
            }
        }
    }

    // MARK: TLS

    @Test func certificatesAreTrustedOnlyIfTheyAreGiven() async throws {
        let folder = try TemporaryFolder()
        let certificate = try ServerCertificate(
            certificateFile: folder.write(TestCertificate.pem, to: "cert.pem").path(percentEncoded: false),
            keyFile: folder.write(TestCertificate.key, to: "key.pem").path(percentEncoded: false))
        try await LiveContainer.run(certificate: certificate, trusting: Array(TestCertificate.pem.utf8)) { live in
            try await live.user { client in
                try await Self.fill(client.database(.private), 1)
                #expect(
                    try await client.database(.private).lookup(["note0"], in: Self.zone)[0].get().recordType == "Note")
            }
        }
        try await LiveContainer.run(certificate: certificate) { live in
            try await live.user { client in
                let failed = await failure { try await client.database(.private).read() }
                guard case .untrusted? = failed?.kind else { return unexpected(failed as Any) }
                #expect(failed?.attempts == 1)
            }
        }
        #expect(throws: CloudKitFailure.self) {
            var configuration = ClientConfiguration(address: "https://127.0.0.1:1")
            configuration.trustedCertificates = Array("no certificate".utf8)
            _ = try Transport(configuration, now: { .now })
        }
    }
}
