import Accounts
import Foundation
import LoopbackServing
import RecordStore
import Records
import StoreScenarios
import Synchronization
import TestSupport
import Testing

@testable import CloudKitClient
@testable import RemoteRecordStore

/// An engine over CloudKit's protocol.
@Suite struct EngineTests {
    private static func fill(_ database: CloudKitDatabase, _ count: Int) async throws {
        for zone in try await database.modifyZones([.create(notes)]) { _ = try zone.get() }
        for number in 0..<count {
            try await database.save(
                Name("r\(number)"), in: notes, ["rank": .int64(Int64(number)), "text": .string("é\"\\💬")])
        }
    }

    // MARK: Answers

    @Test func whatCloudKitDoesNotTellIsAbsent() async throws {
        try await StandIn.run { standIn in
            try await standIn.withEngine(standIn.connection()) { engine in
                let database = try engine.database(.private)
                try await Self.fill(database, 3)
                let token = try await database.pull(notes).token
                try await database.save("r0", in: notes, ["rank": .int64(9)])
                try await database.delete("r1", in: notes)
                let changes = try await database.pull(notes, since: token).changes
                #expect(
                    changes.map(\.recordID.recordName) == ["r0", "r1"] && changes.allSatisfy { $0.position == nil })
                #expect(changes.map(\.kind) == [nil, .deleted] && changes[1].record == nil)
                #expect(try await database.databaseChanges(DatabaseChangesRequest()).changes.map(\.timestamp) == [nil])
                let everything = ProtocolOnlyEngine(engine)
                let (container, plain) = (
                    database.address.container, try await everything.database(database.address, as: database.caller)
                )
                #expect(
                    try CapabilityScenarios.missing(in: engine, container)
                        == CapabilityScenarios.missing(in: everything, container))
                let own = [
                    Capability.uploadAssets.task, Capability.shareRecords.task, Capability.keepSubscriptions.task,
                ]
                #expect(
                    try CapabilityScenarios.missing(in: database)
                        == CapabilityScenarios.missing(in: plain).subtracting(own))
                let refused = await refusal { _ = try await database.require(.countRecords).counts(in: notes) }
                #expect(refused == database.unable(.countRecords) && refused?.reason.contains("count records") == true)
            }
        }
    }

    @Test func recordsAreTheSame() async throws {
        try await StandIn.run { standIn in
            try await standIn.withEngine(standIn.connection()) { engine in
                let database = try engine.database(.private)
                try await Self.fill(database, 1)
                let place = Location(latitude: 1.5, longitude: -2)
                let fields: [Name: FieldValue] = [
                    "bytes": .bytes([0, 255]), "double": .double(2),
                    "list": .list([.string("a"), .string("")], of: .string), "place": .location(place),
                    "link": .reference(Reference(recordName: "r0", action: .none)),
                    "when": .timestamp(Timestamp(milliseconds: 5)),
                ]
                let saved = try await database.save("all", in: notes, fields, parent: .record("r0"))
                let found = try await database.fetch([RecordID(recordName: "all", zoneID: notes)], desiredKeys: nil)[0]
                    .get()
                #expect(found == saved && found.parent == "r0" && found.created.userRecordName == ada.userRecordName)
                let values = try found.fields.values(of: Set(fields.keys))
                #expect(values.filter { $0.key != "link" } == fields.filter { $0.key != "link" })
                guard case .reference(let link)? = values["link"] else { return #expect(Bool(false)) }
                #expect(link.recordName == "r0" && link.action == .none)
                let some = try await database.fetch(
                    [found.recordID, RecordID(recordName: "none", zoneID: notes)], desiredKeys: ["double"])
                #expect(
                    try some[0].get().fields.decoded().map(\.name) == ["double"] && some[1] == .failure(.recordNotFound)
                )
            }
        }
    }

    /// Two users of the container, each with a sign-in.
    @Test func sharesTravel() async throws {
        try await StandIn.run { standIn in
            let (adas, graces) = (
                try await standIn.connection(), try await standIn.connection(of: grace.userRecordName)
            )
            try await standIn.withEngine(adas) { owner in
                try await standIn.withEngine(graces) { guest in
                    let database = try owner.database(.private)
                    try await Self.fill(database, 1)
                    try await database.save("below", in: notes, parent: .record("r0"))
                    var operation = RecordOperation(.create, recordName: "share", recordType: Share.recordType)
                    let invitation = ShareParticipant(
                        participantID: "p", lookupInfo: LookupInfo(userRecordName: graces.userRecordName),
                        permission: .readWrite)
                    operation.share = ShareInput(
                        root: .init(recordName: "r0", recordChangeTag: nil), participants: [invitation])
                    guard
                        case .saved(let saved) = try await database.modify(ModifyRequest([operation], zoneID: notes))[0]
                            .get()
                    else { return #expect(Bool(false)) }
                    let link = try #require(saved.sharing?.shortGUID)
                    #expect(
                        saved.sharing?.share?.participants.map(\.status) == [.accepted, .invited]
                            && saved.sharing?.share?.shortGUID == link)
                    let root = try await database.fetch([RecordID(recordName: "r0", zoneID: notes)], desiredKeys: nil)[
                        0
                    ].get()
                    #expect(root.sharing == RecordSharing(shortGUID: link, shareName: "share"))
                    let links = try guest.database(.public)
                    let invited = try await links.resolve([link, "none"], by: LookupInfo())
                    #expect(try invited[0].get().participant?.status == .invited)
                    #expect(await refusal { _ = try invited[1].get() }?.code == .notFound)
                    let accepted = try await links.accept([link], by: LookupInfo())[0].get()
                    #expect(
                        accepted.participant?.status == .accepted && accepted.share.sharing?.share?.rootName == "r0"
                            && !accepted.isOwner)
                    let seen = ZoneID(zoneName: notes.zoneName, ownerRecordName: adas.userRecordName)
                    #expect(
                        Set(try await guest.database(.shared).pull(seen).changes.map(\.recordID.recordName)) == [
                            "r0", "below", "share",
                        ])
                    #expect(try await owner.database(.private).resolve([link], by: LookupInfo())[0].get().isOwner)
                    // Joining is a change.
                    var asking = links
                    asking.writePermission = .unconfirmed
                    await #expect(throws: UnconfirmedChange.self) {
                        _ = try await asking.accept([link], by: LookupInfo())
                    }
                }
            }
        }
    }

    @Test func queriesArePaged() async throws {
        try await StandIn.run { standIn in
            try await standIn.withEngine(standIn.connection()) { engine in
                let database = try engine.database(.private)
                try await Self.fill(database, 7)
                let query = Query(
                    recordType: "Item", filters: [.init("rank", .lessThan, FieldInput(.int64(6)))],
                    sorts: [.init("rank", ascending: false)])
                let found = try await database.all(query, in: .zone(notes), pageSize: 2)
                #expect(found.map(\.recordID.recordName) == ["r5", "r4", "r3", "r2", "r1", "r0"])
                #expect(try await database.all(query, in: .allZones, pageSize: 4).count == 6)
            }
        }
    }

    /// One request of the protocol changes one zone.
    @Test func aBatchForTwoZonesIsTwoRequests() async throws {
        try await StandIn.run { standIn in
            try await standIn.withEngine(standIn.connection()) { engine in
                let database = try engine.database(.private)
                try await Self.fill(database, 1)
                let batch = [
                    RecordOperation(.create, recordName: "a", zoneID: .default, recordType: "Item"),
                    RecordOperation(.create, recordName: "r0", recordType: "Item"),
                    RecordOperation(.create, recordName: "b", recordType: "Item"),
                ]
                #expect(try await database.outcomes(batch, in: notes) == [nil, .conflict, .atomicError])
                #expect(try await database.names(of: ["a"]) == ["a"])
                let found = try await database.fetch(
                    [
                        RecordID(recordName: "a"), RecordID(recordName: "r0", zoneID: notes),
                        RecordID(recordName: "x", zoneID: ZoneID(zoneName: "No")),
                    ],
                    desiredKeys: nil)
                #expect(
                    try found[0].get().recordID.recordName == "a" && found[1].get().recordID.zoneID.zoneName == "Notes")
                #expect(found[2] == .failure(.zoneNotFound))
            }
        }
    }

    // MARK: Errors

    @Test func missingIndexesAreRefusedInApplesWordsAndLearned() async throws {
        try await StandIn.run { standIn in
            try await standIn.withEngine(standIn.connection()) { engine in
                let database = try engine.database(.private)
                try await Self.fill(database, 1)
                let refused = await refusal {
                    _ = try await database.query(QueryRequest(Query(recordType: "Item"), in: .zone(notes)))
                }
                #expect(refused == RecordError(.badRequest, "Field 'recordName' is not marked queryable"))
                let finding = engine.learnedIndexes.finding(.queryable, of: .system(.recordID), in: "Item")
                #expect(finding == LearnedIndexes.Finding(exists: false, source: .refusal(TestClock().now())))
                let sorted = await refusal {
                    _ = try await database.query(
                        QueryRequest(
                            Query(
                                recordType: "Item", filters: [.init("rank", .equals, FieldInput(.int64(0)))],
                                sorts: [.init("___modTime")]), in: .zone(notes)))
                }
                #expect(sorted?.reason == "Field '___modTime' is not marked sortable")
                #expect(engine.learnedIndexes.finding(.sortable, of: .system(.modTime), in: "Item")?.exists == false)
            }
        }
    }

    @Test func anEndedSignInSaysHowToSignInAgain() async throws {
        try await StandIn.run { standIn in
            try await standIn.withEngine(standIn.connection()) { engine in
                for session in standIn.accounts.webAuthSessions() {
                    _ = try await standIn.accounts.revokeWebAuthSession(session.id)
                }
                let refused = await refusal { _ = try await engine.database(.private).zones() }
                #expect(refused?.code == .authenticationRequired)
                #expect(refused?.reason.contains("skylight connect \(standIn.container)") == true)
            }
        }
    }

    @Test func aServerThatIsGoneCanBeTriedAgain() async throws {
        let container = try address(.private).container
        let connection = ContainerConnection(
            container: container, environment: .development, address: "http://127.0.0.1:1",
            credentials: .webAuth(apiToken: "a", webAuthToken: "b"))
        var configuration = ClientConfiguration()
        configuration.patience = .seconds(1)
        let engine = try CloudKitRecordEngine(connection, configuration: configuration, logger: LogLines().logger) {
            _ in
        }
        let refused = await refusal { _ = try await engine.database(.private).zones() }
        #expect(refused?.code == .tryAgainLater)
        await engine.close()
        let closed = await refusal { _ = try await engine.database(.private).zones() }
        #expect(closed?.code == .tryAgainLater)
    }

    /// Its answers may be large, and event loops are for brief work.
    @Test func briefWorkLeavesTheEventLoopBeforeItAsks() async throws {
        let connection = ContainerConnection(
            container: try address(.private).container, environment: .development, address: "http://127.0.0.1:1",
            credentials: .webAuth(apiToken: "a", webAuthToken: "b"))
        let engine = try CloudKitRecordEngine(connection, logger: LogLines().logger) { _ in }
        var runs: [Bool] = []
        try await BriefWork.run {
            runs.append(BriefWork.current != nil)
            _ = try engine.database(.private)
        }
        #expect(runs == [true, false])
        await engine.close()
    }

    /// An answer that lacks what every record has, or has what this program does not know, is an error and no guess.
    @Test(arguments: [
        (#"{"recordName":"r","fields":{}}"#, "does not tell the type"),
        (
            #"{"recordName":"r","recordType":"T","recordChangeTag":"1","created":{"timestamp":1},"fields":{}}"#,
            "does not tell the latest change"
        ),
        (
            #"{"recordName":"r","recordType":"T","recordChangeTag":"1","created":{"timestamp":1},"modified":{"timestamp":1},"fields":{"f":{"value":1,"type":"QUATERNION"}}}"#,
            "the field 'f' of the record 'r' as QUATERNION"
        ),
    ])
    func answersWithGapsAreErrors(record: String, words: String) async throws {
        try await ScriptedServer.run(.json(#"{"records":[\#(record)]}"#)) { address, _ in
            let connection = ContainerConnection(
                container: try StoreScenarios.address(.private).container, environment: .development, address: address,
                credentials: .webAuth(apiToken: "a", webAuthToken: "b"))
            let engine = try CloudKitRecordEngine(connection, logger: LogLines().logger) { _ in }
            let found = try await engine.database(.private).fetch([RecordID(recordName: "r")], desiredKeys: nil)[0]
            guard case .failure(let error) = found else { return #expect(Bool(false), "\(found)") }
            #expect(error.code == .internalError && error.reason.contains(words), "\(error)")
            await engine.close()
        }
    }

    // MARK: Rights

    @Test func productionIsReadOnlyUnlessItMayBeWritten() async throws {
        try await StandIn.run { standIn in
            try await standIn.withEngine(standIn.connection(.production, isWritable: false)) { engine in
                let database = try engine.database(.private)
                let zones = await refusal { _ = try await database.modifyZones([.create(notes)]) }
                let save = await refusal { try await database.save("r") }
                let upload = await refusal {
                    _ = try await database.require(.uploadAssets).grantUploads(
                        [UploadRequest(recordType: "Item", fieldName: "file")], in: nil)
                }
                for refused in [zones, save, upload] {
                    #expect(
                        refused?.code == .accessDenied
                            && refused?.reason.contains("connect it again as writable") == true, "\(refused as Any)")
                }
                #expect(try await database.zones().map(\.zoneID.zoneName) == ["_defaultZone"])
            }
            try await standIn.withEngine(standIn.connection(.production, isWritable: true)) { engine in
                let made = try await engine.database(.private).modifyZones([.create(notes)])
                #expect(try made[0].get().zoneID.zoneName == "Notes")
            }
        }
    }

    @Test func aServerKeyReachesThePublicDatabase() async throws {
        try await StandIn.run { standIn in
            try await standIn.withEngine(standIn.keyConnection()) { engine in
                let saved = try await engine.database(.public).save("r", ["a": .int64(1)])
                #expect(
                    try await engine.database(.public).names(of: ["r"]) == ["r"]
                        && saved.created.userRecordName != ada.userRecordName)
                let refused = await refusal { _ = try engine.database(.private) }
                #expect(refused?.code == .accessDenied)
            }
        }
    }

    // MARK: Credentials

    @Test func noCredentialIsInALogAnErrorOrADescription() async throws {
        try await StandIn.run { standIn in
            for connection in [try await standIn.connection(), try await standIn.keyConnection()] {
                let log = LogLines()
                var told: [String] = []
                try await standIn.withEngine(connection, log: log) { engine in
                    let database = try engine.database(.public)
                    try standIn.inject(.throttled, count: 1)
                    _ = try await database.fetch([RecordID(recordName: "none")], desiredKeys: nil)
                    told.append(
                        "\(await refusal { _ = try await database.query(QueryRequest(Query(recordType: "Nope"))) } as Any)"
                    )
                    told.append(
                        "\(await refusal { _ = try await database.zoneChanges(ZoneChangesRequest(notes)) } as Any)")
                    var dumped = ""
                    dump(engine.connection, to: &dumped)
                    dump(engine.client.credentials, to: &dumped)
                    told += [
                        dumped, "\(engine.connection)", String(reflecting: engine.connection), "\(engine)",
                        "\(database)", String(reflecting: database),
                    ]
                }
                let secrets: [String] =
                    switch connection.credentials {
                    case .serverKey(_, let pem): [String(pem.split(separator: "\n")[1])]
                    case .webAuth(let apiToken, let webAuthToken): [apiToken, webAuthToken]
                    }
                #expect(log.text.contains("records/lookup"))
                for text in told + [log.text] {
                    for secret in secrets { #expect(!text.contains(secret)) }
                }
            }
        }
    }

    // MARK: Tokens

    /// CloudKit's tokens are not ours: padding, other alphabets and other characters stay.
    @Test(arguments: ["AQAAAAAAAAAxf/////////8T+w==", "HwoECI==", "not base64 at all", "ü"])
    func tokensGoBackAsTheyCame(text: String) async throws {
        let reply =
            #"{"zones":[{"zoneID":{"zoneName":"Notes"},"records":[],"syncToken":"\#(text)","moreComing":false}]}"#
        try await ScriptedServer.run(.json(reply)) { address, server in
            let connection = ContainerConnection(
                container: try StoreScenarios.address(.private).container, environment: .development, address: address,
                credentials: .webAuth(apiToken: "a", webAuthToken: "b"))
            let engine = try CloudKitRecordEngine(
                connection, logger: LogLines().logger, clock: { Timestamp(milliseconds: 7) }
            ) { _ in }
            let database = try engine.database(.private)
            let token = try await database.zoneChanges(ZoneChangesRequest(notes)).syncToken
            #expect(token.text == text)
            #expect(try await database.zoneChanges(ZoneChangesRequest(notes, since: token)).syncToken == token)
            #expect(server.requests.map { $0.body.contains(#""syncToken":"\#(text)""#) } == [false, true])
            let receipt = database.receipt(of: token, in: notes)
            #expect(receipt?.received == Timestamp(milliseconds: 7) && receipt?.pullsSince == 1)
            await engine.close()
        }
    }

    @Test func requestsAreMeasured() async throws {
        try await StandIn.run { standIn in
            try await standIn.withEngine(standIn.connection()) { engine in
                let meter = CloudKitMeter()
                try await CloudKitMeter.$current.withValue(meter) { _ = try await engine.database(.private).zones() }
                _ = try await engine.database(.private).zones()
                #expect(
                    meter.reading.requests == 1 && meter.reading.answering > .zero && meter.reading.waiting == .zero)
            }
        }
    }

    /// Somebody waits for all requests of a page together.
    @Test func theTimeOfAPageIsOfAllItsRequests() async throws {
        try await StandIn.run { standIn in
            try await standIn.withEngine(standIn.connection()) { engine in
                for (time, code) in [(CloudKitMeter.pageTime, nil), (.zero, .tryAgainLater)]
                    as [(Duration, ServerErrorCode?)]
                {
                    let meter = CloudKitMeter(within: time)
                    let failed = await CloudKitMeter.$current.withValue(meter) {
                        do {
                            _ = try await engine.database(.private).zones()
                            return nil as RecordError?
                        } catch {
                            return error as? RecordError
                        }
                    }
                    #expect(failed?.code == code && meter.reading.requests == (code == nil ? 1 : 0))
                }
            }
        }
    }
}
