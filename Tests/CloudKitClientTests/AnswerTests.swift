import Logging
import LoopbackServing
import Records
import Testing

@testable import CloudKitClient

/// Answers as CloudKit has been seen to write them, and what is none.
@Suite struct AnswerTests {
    private func record(_ json: String) throws -> ReceivedRecord {
        guard case .object(let object) = try JSONReader.value(of: json) else {
            throw UnexpectedShape(expected: "an object")
        }
        return try ReceivedRecord(object, in: ZoneID(zoneName: "Asked"))
    }

    @Test func aRecordKeepsAllMembers() throws {
        let found = try record(
            #"""
            {"recordName":"r","recordType":"T","recordChangeTag":"1e","created":{"timestamp":1700000000001,"userRecordName":"_a","deviceID":"2"},
             "modified":{"timestamp":2},"pluginFields":{},"deleted":false,"parent":{"recordName":"p"},"shortGUID":"008S",
             "share":{"recordName":"s","zoneID":{"zoneName":"Z","ownerRecordName":"_o"}},"zoneID":{"zoneName":"Z","ownerRecordName":"_o","zoneType":"REGULAR_CUSTOM_ZONE"},
             "stableUrl":{"routingKey":"008"},
             "fields":{"n":{"value":9007199254740993,"type":"INT64"}}}
            """#)
        let zone = ZoneID(zoneName: "Z", ownerRecordName: "_o")
        #expect(
            found.recordID == RecordID(recordName: "r", zoneID: zone) && found.recordType == "T"
                && found.recordChangeTag == "1e")
        #expect(
            found.created?.timestamp?.milliseconds == 1_700_000_000_001 && found.created?.userRecordName == "_a"
                && found.created?.deviceID == "2")
        #expect(
            found.modified?.timestamp?.milliseconds == 2 && found.modified?.userRecordName == nil
                && found.modified?.deviceID == nil)
        #expect(
            found.parent == "p" && found.share == RecordID(recordName: "s", zoneID: zone) && found.shortGUID == "008S")
        #expect(found.others.names == ["stableUrl"] && found.participants == nil && found.publicPermission == nil)
        #expect(found.sharing == RecordSharing(shortGUID: "008S", shareName: "s"))
        #expect(found.fields["n"]?.value == .int64(9_007_199_254_740_993))
    }

    /// Participants as they were seen, with members and values that nobody has documented.
    @Test func aShareListsItsParticipants() throws {
        let guest = #"""
            {"participantId":"G","userIdentity":{"userRecordName":"_g","nameComponents":{"givenName":"Grace","familyName":"H"},"lookupInfo":{"emailAddress":"g@x.org"}},
             "type":"USER","acceptanceStatus":"ACCEPTED","permission":"READ_WRITE","customRole":"","orgUser":false,"protectionInfo":{"bytes":"AA==","pcsChangeTag":"x"}}
            """#
        let owner =
            #"{"participantId":"O","userIdentity":{"userRecordName":"_o","nameComponents":{},"lookupInfo":{}},"type":"OWNER","acceptanceStatus":"ACCEPTED","permission":"READ_WRITE"}"#
        let strange =
            #"{"participantId":"S","userIdentity":{"lookupInfo":{"phoneNumber":"+49"}},"type":"PRIVATE_USER","acceptanceStatus":"SOON","permission":"UNKNOWN"}"#
        let found = try record(
            #"{"recordName":"SHARE-1","recordType":"cloudkit.share","shortGUID":"008S4-k","publicPermission":"READ_ONLY","participants":["#
                + [guest, owner, strange].joined(separator: ",") + #"],"owner":"# + owner
                + #","currentUserParticipant":"# + guest + "}")
        #expect(
            found.publicPermission == .readOnly && found.owner?.participant.role == .owner
                && found.currentUserParticipant == found.participants?[0])
        let first = try #require(found.participants?.first)
        #expect(first.user.givenName == "Grace" && first.json["customRole"] == "" && found.others.isEmpty)
        let participants = [
            ShareParticipant(
                participantID: "O", userRecordName: "_o", role: .owner, status: .accepted, permission: .readWrite),
            ShareParticipant(
                participantID: "G", userRecordName: "_g", lookupInfo: LookupInfo(emailAddress: "g@x.org"),
                status: .accepted, permission: .readWrite),
            ShareParticipant(participantID: "S", lookupInfo: LookupInfo(phoneNumber: "+49"), permission: .none),
        ]
        let share = Share(rootName: nil, shortGUID: "008S4-k", publicPermission: .readOnly, participants: participants)
        #expect(found.sharing == RecordSharing(shortGUID: "008S4-k", share: share))
        #expect(throws: UnexpectedShape.self) { try record(#"{"recordName":"r","participants":[1]}"#) }
    }

    @Test func aLinkLeadsToAShare() throws {
        let json = #"""
            {"shortGUID":{"value":"008S","shouldFetchRootRecord":true},"containerIdentifier":"iCloud.c","environment":"DEVELOPMENT","databaseScope":"SHARED",
             "zoneID":{"zoneName":"Z"},"ownerIdentity":{"userRecordName":"_o","nameComponents":{"givenName":"Ada"}},"rootRecordName":"list",
             "share":{"recordName":"s","recordType":"cloudkit.share","shortGUID":"008S","publicPermission":"NONE","participants":[]},
             "rootRecord":{"recordName":"list","recordType":"List"},"participantType":"USER","participantStatus":"INVITED","participantPermission":"READ_ONLY",
             "potentialMatchList":[]}
            """#
        guard case .object(let object) = try JSONReader.value(of: json) else { return unexpected("no object") }
        let found = try ReceivedShareMetadata(object, of: "008S")
        // Accepting answers without the owner of the zone.
        let zoneID = ZoneID(zoneName: "Z", ownerRecordName: "_o")
        #expect(
            found.share.recordID == RecordID(recordName: "s", zoneID: zoneID)
                && found.rootRecord?.recordID == RecordID(recordName: "list", zoneID: zoneID))
        #expect(
            found.shortGUID == "008S" && found.containerIdentifier == "iCloud.c" && found.databaseScope == .shared
                && found.rootRecordName == "list")
        #expect(
            found.owner?.givenName == "Ada" && found.participantType == .user && found.participantStatus == .invited
                && found.participantPermission == .readOnly)
        #expect(found.json["potentialMatchList"] == .array([]))
        #expect(throws: UnexpectedShape.self) { try ReceivedShareMetadata(JSONObject(), of: "008S") }
    }

    @Test func missingMembersAreAbsent() throws {
        let found = try record(#"{"recordName":"r"}"#)
        #expect(found.recordID.zoneID.zoneName == "Asked" && found.recordType == nil && found.recordChangeTag == nil)
        #expect(
            found.created == nil && found.modified == nil && found.parent == nil && found.share == nil
                && found.fields.isEmpty && found.others.isEmpty)
        #expect(throws: UnexpectedShape.self) { try record(#"{"recordType":"T"}"#) }
    }

    @Test(
        arguments: [
            (#"{"value":"a","type":"STRING"}"#, .string("a")), (#"{"value":7,"type":"INT64"}"#, .int64(7)),
            (#"{"value":"7","type":"INT64"}"#, .int64(7)),
            (#"{"value":7,"type":"DOUBLE"}"#, .double(7)), (#"{"value":7,"type":"NUMBER_INT64"}"#, .int64(7)),
            (#"{"value":1.5,"type":"NUMBER_DOUBLE"}"#, .double(1.5)),
            (#"{"value":"AQI=","type":"BYTES"}"#, .bytes([1, 2])),
            (#"{"value":"AQI=","type":"ENCRYPTED_BYTES"}"#, .bytes([1, 2])),
            (#"{"value":5,"type":"TIMESTAMP"}"#, .timestamp(Timestamp(milliseconds: 5))),
            (#"{"value":[],"type":"STRING_LIST"}"#, .list([], of: .string)),
            (#"{"value":[],"type":"UNKNOWN_LIST"}"#, .list([], of: nil)),
            (#"{"value":["a"],"type":"STRING_LIST"}"#, .list([.string("a")], of: .string)),
            (
                #"{"value":{"recordName":"x","action":"DELETE_SELF"},"type":"REFERENCE"}"#,
                .reference(Reference(recordName: "x", action: .deleteSelf))
            ),
            (#"{"value":null,"type":"STRING"}"#, nil), (#"{"type":"STRING"}"#, nil), (#"{"value":"a"}"#, nil),
            (#"{"value":{"a":1},"type":"POLYGON"}"#, nil),
            (#"{"value":"a","type":"INT64"}"#, nil), (#"{"value":[1],"type":"UNKNOWN_LIST"}"#, nil), ("{}", nil),
        ] as [(String, FieldValue?)])
    func fieldsAreReadLenientlyAndNeverGuessed(json: String, value: FieldValue?) throws {
        guard case .object(let object) = try JSONReader.value(of: json) else { return unexpected("no object") }
        let field = ReceivedField(object)
        #expect(field.value == value && field.json == object)
        #expect(field.isEncrypted == json.contains("ENCRYPTED"))
    }

    @Test func assetsComeWithTheirAddresses() throws {
        let asset =
            #"{"fileChecksum":"AQ","size":3,"wrappingKey":"k","referenceChecksum":"c","downloadURL":"https://a/${f}"}"#
        for (type, value, count) in [
            ("ASSETID", asset, 1), ("ASSETID_LIST", "[\(asset),\(asset)]", 2), ("ASSET", asset, 1),
            ("STRING", #""a""#, 0), ("ASSETID", "{}", 0),
        ] {
            let found = try #require(
                try record(#"{"recordName":"r","fields":{"f":{"value":\#(value),"type":"\#(type)"}}}"#).fields["f"])
            let expected = ReceivedAsset(
                asset: Asset(fileChecksum: "AQ", size: 3, referenceChecksum: "c", wrappingKey: "k"),
                downloadURL: "https://a/${f}")
            #expect(found.assets == Array(repeating: expected, count: count))
        }
    }

    @Test(arguments: [
        "hello", "", "[]", "{", "{}", #"{"zones":{}}"#, #"{"zones":[1]}"#, #"{"zones":[{}]}"#,
        #"{"zones":[],"zones":[]}"#, "<html>",
        String(repeating: "[", count: 100),
    ])
    func invalidAnswersAreRecognised(text: String) async throws {
        let stage = Stage()
        try await ScriptedServer.run(.raw(text)) { address, server in
            try await stage.run(address) { client in
                let read = await failure { try await client.database(.private).read() }
                guard case .unexpectedAnswer(200, _)? = read?.kind else { return unexpected(read as Any) }
                let save = await failure { try await client.database(.private).save() }
                guard case .answerLost? = save?.kind else { return unexpected(save as Any) }
            }
            #expect(server.requests.count == 2)
        }
        try await ScriptedServer.run(.raw("moved", status: 302, ["Location": "https://a.example/"])) {
            address, server in
            try await stage.run(address) { client in
                let failed = await failure { try await client.database(.private).read() }
                #expect(
                    failed?.kind == .unexpectedAnswer(status: 302, "without CloudKit's JSON")
                        && server.requests.count == 1)
            }
        }
    }

    @Test func anErrorCountsWithAnyStatus() async throws {
        let stage = Stage()
        try await ScriptedServer.run(
            .error("BAD_REQUEST", status: 200), .error("BAD_REQUEST", status: 200), .raw("<html>", status: 421)
        ) { address, server in
            try await stage.run(address) { client in
                let refused = CloudKitFailure.Kind.refused(
                    ServerError(codeName: "BAD_REQUEST", reason: "Because of BAD_REQUEST", uuid: "u-1"))
                #expect(await failure { try await client.database(.private).read() }?.kind == refused)
                #expect(await failure { try await client.database(.private).save() }?.kind == refused)
                let needsUser = await failure { try await client.database(.private).read() }
                guard case .signInRequired? = needsUser?.kind else { return unexpected(needsUser as Any) }
                #expect(needsUser?.signInURL == nil && server.requests.count == 3)
            }
        }
    }

    @Test func answersHaveASizeLimit() async throws {
        let stage = Stage()
        let text = #"{"zones":[],"more":"\#(String(repeating: "x", count: 5000))"}"#
        // The length is stated beforehand, or only the end of the connection shows it.
        let unstated = ScriptedServer.Reply(bytes: Array("HTTP/1.1 200 OK\r\n\r\n\(text)".utf8), closes: true)
        for reply in [ScriptedServer.Reply.json(text), unstated] {
            try await ScriptedServer.run(reply) { address, server in
                try await stage.run(address, as: nil, { $0.answerLimit = 5000 }) { client in
                    let read = await failure { try await client.database(.private).read() }
                    #expect(read?.kind == .answerTooLarge(limit: 5000) && server.requests.count == 1)
                    let save = await failure { try await client.database(.private).save() }
                    #expect(save?.kind == .answerLost("it has more than 5000 bytes"))
                }
                try await stage.run(address, as: nil, { $0.answerLimit = 6000 }) {
                    try await $0.database(.private).read()
                }
            }
        }
    }

    @Test func unknownCodesKeepTheirNames() async throws {
        let stage = Stage()
        try await ScriptedServer.run(.error("UNIQUE_FIELD_ERROR", status: 409)) { address, _ in
            try await stage.run(address) { client in
                let failed = await failure { try await client.database(.private).save() }
                #expect(failed?.serverError?.codeName == "UNIQUE_FIELD_ERROR" && failed?.serverError?.code == nil)
            }
        }
    }

    // MARK: Pages

    @Test func emptyPagesAreNotTheEnd() async throws {
        let stage = Stage()
        let pages = [
            #"{"zones":[{"zoneID":{"zoneName":"Z"},"records":[],"syncToken":"a+/=","moreComing":true}]}"#,
            #"{"zones":[{"zoneID":{"zoneName":"Z"},"records":[{"recordName":"r","deleted":true,"recordType":null},{"recordName":"s","serverErrorCode":"INTERNAL_ERROR"}],"syncToken":"b","moreComing":true}]}"#,
            #"{"zones":[{"zoneID":{"zoneName":"Z"},"records":[{"recordName":"t","recordType":"T"}],"syncToken":"c","moreComing":false}]}"#,
        ]
        try await ScriptedServer.run({ _, number in .json(pages[number]) }) { address, server in
            try await stage.run(address) { client in
                var changes: [ZoneFeedPage.Change] = []
                var tokens: [String] = []
                for try await page in client.database(.private).zoneChangesPages(
                    ZonePull(ZoneID(zoneName: "Z"), limit: 2))
                {
                    changes += page.changes
                    tokens.append(page.syncToken.text)
                }
                #expect(tokens == ["a+/=", "b", "c"])
                guard changes.count == 3, case .deleted(let deletion) = changes[0],
                    case .failed(let error) = changes[1], case .saved(let saved) = changes[2]
                else {
                    return unexpected(changes)
                }
                #expect(
                    deletion.recordID == RecordID(recordName: "r", zoneID: ZoneID(zoneName: "Z"))
                        && deletion.recordType == nil)
                #expect(error.recordName == "s" && error.reason == "INTERNAL_ERROR" && saved.recordType == "T")
            }
            #expect(
                server.requests.map(\.body) == [
                    #"{"zones":[{"zoneID":{"zoneName":"Z"},"resultsLimit":2}]}"#,
                    #"{"zones":[{"zoneID":{"zoneName":"Z"},"syncToken":"a+/=","resultsLimit":2}]}"#,
                    #"{"zones":[{"zoneID":{"zoneName":"Z"},"syncToken":"b","resultsLimit":2}]}"#,
                ])
        }
    }

    @Test func aCircleOfPagesEnds() async throws {
        let stage = Stage()
        let circles: [(String, @Sendable (DatabaseClient) async throws -> Void)] = [
            (
                #"{"records":[],"continuationMarker":"m"}"#,
                { for try await _ in $0.queryPages(Query(recordType: "T")) {} }
            ),
            (
                #"{"zones":[{"zoneID":{"zoneName":"Z"},"records":[],"syncToken":"m","moreComing":true}]}"#,
                { for try await _ in $0.zoneChangesPages(ZonePull(ZoneID(zoneName: "Z"))) {} }
            ),
            (#"{"zones":[],"syncToken":"m","moreComing":true}"#, { for try await _ in $0.databaseChangesPages() {} }),
        ]
        for (reply, read) in circles {
            try await ScriptedServer.run(.json(reply)) { address, server in
                try await stage.run(address) { client in
                    let failed = await failure { try await read(client.database(.private)) }
                    #expect(
                        failed?.description.contains("leads back to the same page") == true
                            && server.requests.count == 2)
                }
            }
        }
    }

    /// Circles of any length behind any way into them.
    @Test(arguments: [1, 2, 3, 10], [0, 1, 7, 100])
    func pagesInACircleEnd(length: Int, before: Int) async throws {
        let time = TestTime()
        var trail = PageTrail(of: "changes/zone", after: nil, time.pacing)
        var (pages, failed) = (0, nil as CloudKitFailure?)
        while failed == nil, pages < 1000 {
            let next = pages < before ? "w\(pages)" : "c\((pages - before) % length)"
            do { try await trail.follow(next, isEmpty: false) } catch { failed = error as? CloudKitFailure }
            pages += 1
        }
        #expect(failed?.description.contains("leads back") == true && pages <= 3 * (before + length) + 2)
        #expect(time.pauses.isEmpty)
    }

    @Test func emptyPagesAreFollowedMoreAndMoreSlowlyAndNotForEver() async throws {
        let time = TestTime()
        var trail = PageTrail(of: "records/query", after: nil, time.pacing)
        for number in 0..<5 { try await trail.follow("a\(number)", isEmpty: true) }
        try await trail.follow("b", isEmpty: false)
        for number in 1..<PageTrail.emptyLimit { try await trail.follow("c\(number)", isEmpty: true) }
        let first = [10, 20, 40, 80, 160, 10, 20].map { Duration.milliseconds($0) }
        #expect(Array(time.pauses[..<first.count]) == first)
        #expect(time.pauses.last == .milliseconds(250))
        let failed = await failure { try await trail.follow("d", isEmpty: true) }
        #expect(failed?.description.contains("1000 pages in a row said that more is coming, and had nothing") == true)
    }

    @Test func anErrorOfAZoneEndsItsPages() async throws {
        let stage = Stage()
        let expired =
            #"{"zones":[{"zoneID":{"zoneName":"Z"},"serverErrorCode":"BAD_REQUEST","reason":"client knowledge differs from server knowledge"}]}"#
        try await ScriptedServer.run(.json(expired)) { address, _ in
            try await stage.run(address) { client in
                let failed = await failure {
                    for try await _ in client.database(.private).zoneChangesPages(
                        ZonePull(ZoneID(zoneName: "Z"), since: SyncToken("old")))
                    {}
                }
                #expect(
                    failed?.kind
                        == .refused(
                            ServerError(
                                codeName: "BAD_REQUEST", reason: "client knowledge differs from server knowledge")))
            }
        }
    }

    // MARK: Addresses

    @Test(arguments: ["ftp://127.0.0.1:1", "http://", "cloudkit", "http://127.0.0.1:1/?x=1", "https://a.example/path"])
    func whatIsNoAddressIsRefused(address: String) throws {
        let container = try #require(ContainerID(Stage.container))
        #expect(throws: CloudKitFailure.self) {
            try ContainerClient(
                container: container, environment: .development, credentials: .apiToken("x"),
                configuration: ClientConfiguration(address: address), logger: Logger(label: "test"))
        }
    }
}

/// The end of a sign-in, as the sign-in page tells it.
@Suite struct SignInAnswerTests {
    @Test(arguments: [
        ("ckWebAuthToken=\(Stage.userTokenEncoded)", Stage.userToken),
        ("ckSession=\(Stage.userTokenEncoded)", Stage.userToken),
        ("a=b&ckSession=old&ckWebAuthToken=new&x", "new"), ("ckWebAuthToken=null&ckSession=new", "new"),
        ("ckWebAuthToken=a%252Bb", "a+b"),
    ])
    func aTokenIsFoundUnderBothNames(query: String, token: String) throws {
        guard case .token(let found)? = SignInAnswer(query: query) else { return #expect(Bool(false), "\(query)") }
        #expect(found.text == token)
    }

    @Test func anErrorIsNoToken() {
        #expect(SignInAnswer(query: "errorMessage=accessError") == .refused(code: "accessError"))
        #expect(SignInAnswer(query: "errorMessage=a%20b&ckSession=undefined") == .refused(code: "a b"))
        for query in ["", "ckWebAuthToken=", "ckSession=null", "errorMessage=", "token=x", "&&="] {
            #expect(SignInAnswer(query: query) == nil, "\(query)")
        }
    }

    @Test func aLimitedTokenComesFromItsSite() async throws {
        try await ScriptedServer.run(.json(#"{"zones":[]}"#)) { address, server in
            let stage = Stage()
            for origin in [nil, "http://127.0.0.1:8181"] {
                try await stage.run(address, { $0.origin = origin }) { client in
                    _ = try await client.database(.private).zones()
                }
                #expect(server.requests.last?.headers["origin"] == origin)
            }
        }
    }
}
