import LoopbackServing
import Records
import Synchronization
import Testing

@testable import CloudKitClient

/// Requests as CloudKit documents them, and their division into parts.
@Suite struct RequestTests {
    private static let zone = ZoneID(zoneName: "Z", ownerRecordName: "_o")

    private struct Sent: Equatable {
        var method: String
        /// Without container and environment.
        var path: String
        var body: String

        init(_ method: String, _ path: String, _ body: String) {
            (self.method, self.path, self.body) = (method, path, body)
        }
    }

    /// The one request that is sent.
    private func sent(_ reply: String, _ send: (ContainerClient) async throws -> Void) async throws -> Sent {
        let stage = Stage()
        var found = Sent("", "", "")
        try await ScriptedServer.run(.json(reply)) { address, server in
            try await stage.run(address) { try await send($0) }
            let request = try #require(server.requests.first)
            #expect(server.requests.count == 1)
            #expect(request.headers["content-type"] == (request.method == "POST" ? "application/json" : nil))
            found = Sent(
                request.method, String(request.path.dropFirst("/database/1/\(Stage.container)/development/".count)),
                request.body)
        }
        return found
    }

    // MARK: Forms

    @Test func queriesAreSentWithAllTheirParts() async throws {
        let query = Query(
            recordType: "T",
            filters: [
                .init("a", .in, FieldInput(.list([.string("x")], of: .string))),
                .init("where", .near, FieldInput(.location(Location(latitude: 1, longitude: 2))), distance: 5),
                .init(
                    "___recordID", .equals,
                    FieldInput(
                        .reference(
                            Reference(
                                recordName: "r", zoneID: ZoneID(zoneName: "Z", ownerRecordName: "__defaultOwner__"))))),
            ], sorts: [.init("___modTime", ascending: false)])
        let request = try await sent(#"{"records":[],"continuationMarker":""}"#) { client in
            let page = try await client.database(.shared).query(
                query, in: .zone(Self.zone), limit: 7, desiredKeys: ["b", "a"], after: "m/+=")
            #expect(page.continuationMarker == nil)
        }
        #expect(request.method == "POST" && request.path == "shared/records/query")
        let expected = [
            #"{"query":{"recordType":"T","filterBy":[{"comparator":"IN","fieldName":"a","fieldValue":{"value":["x"],"type":"STRING_LIST"}},"#,
            #"{"comparator":"NEAR","fieldName":"where","fieldValue":{"value":{"latitude":1.0,"longitude":2.0},"type":"LOCATION"},"distance":5.0},"#,
            #"{"comparator":"EQUALS","fieldName":"___recordID","fieldValue":{"value":{"recordName":"r","action":"NONE","#,
            #""zoneID":{"zoneName":"Z","zoneType":"REGULAR_CUSTOM_ZONE"}},"type":"REFERENCE"}}],"#,
            #""sortBy":[{"fieldName":"___modTime","ascending":false}]},"zoneID":{"zoneName":"Z","ownerRecordName":"_o"},"resultsLimit":7,"#,
            #""desiredKeys":["a","b"],"continuationMarker":"m/+="}"#,
        ].joined()
        #expect(request.body == expected)
    }

    @Test func noDesiredKeysAndEmptyOnesDiffer() async throws {
        let plain = #"{"query":{"recordType":"T","filterBy":[],"sortBy":[]},"#
        let all = try await sent(#"{"records":[]}"#) {
            _ = try await $0.database(.private).query(Query(recordType: "T"), in: .allZones)
        }
        #expect(all.body == plain + #""zoneWide":true}"#)
        let none = try await sent(#"{"records":[]}"#) {
            _ = try await $0.database(.private).query(Query(recordType: "T"), in: .allZones, desiredKeys: [])
        }
        #expect(none.body == plain + #""zoneWide":true,"desiredKeys":[]}"#)
        let records = #"{"records":[{"recordName":"r"}]}"#
        let lookup = try await sent(records) { _ = try await $0.database(.private).lookup(["r"], desiredKeys: []) }
        #expect(
            lookup.body == #"{"records":[{"recordName":"r"}],"zoneID":{"zoneName":"_defaultZone"},"desiredKeys":[]}"#)
    }

    @Test func everyOperationHasItsForm() async throws {
        var create = RecordOperation(
            .create, recordType: "T",
            fields: [
                "f": FieldInput(
                    .asset(Asset(fileChecksum: "c", size: 3, wrappingKey: "w", receipt: "r", fileName: "secret.txt"))),
                "g": .cleared,
                "h": FieldInput(.string("x"), isEncrypted: true), "i": .untagged(.int64(1), isEncrypted: false),
            ], parent: .record("p"))
        create.createsShortGUID = true
        let update = RecordOperation(.update, recordName: "u", recordType: "T", recordChangeTag: "1e", parent: .cleared)
        let delete = RecordOperation(.delete, recordName: "d", recordChangeTag: "2", fields: ["f": .cleared])
        let reply =
            #"{"records":[{"recordName":"n","recordType":"T"},{"recordName":"u","recordType":"T"},{"recordName":"d","deleted":true}]}"#
        let request = try await sent(reply) { client in
            let results = try await client.database(.private).modify(
                [create, update, delete], in: Self.zone, atomic: true, desiredKeys: [])
            #expect(try results[2].get() == .deleted(RecordID(recordName: "d", zoneID: Self.zone)))
            guard case .success(.saved(let saved)) = results[0] else { return unexpected(results) }
            #expect(saved.recordID == RecordID(recordName: "n", zoneID: Self.zone))
        }
        #expect(request.path == "private/records/modify")
        let expected = [
            #"{"operations":[{"operationType":"create","record":{"recordType":"T","fields":{"#,
            #""f":{"value":{"fileChecksum":"c","size":3,"wrappingKey":"w","receipt":"r"},"type":"ASSETID"},"g":null,"#,
            #""h":{"value":"x","type":"STRING","isEncrypted":true},"i":{"value":1}},"parent":{"recordName":"p"},"createShortGUID":true}},"#,
            #"{"operationType":"update","record":{"recordName":"u","recordType":"T","recordChangeTag":"1e","fields":{},"parent":null}},"#,
            #"{"operationType":"delete","record":{"recordName":"d","recordChangeTag":"2"}}],"#,
            #""zoneID":{"zoneName":"Z","ownerRecordName":"_o"},"atomic":true,"desiredKeys":[]}"#,
        ].joined()
        #expect(request.body == expected)
    }

    @Test func sharesAndLinksHaveTheirForms() async throws {
        var create = RecordOperation(.create, recordType: Share.recordType)
        // Only Skylight tells when a user accepted, so it is not sent.
        let participant = ShareParticipant(
            participantID: "p", lookupInfo: LookupInfo(emailAddress: "g@x.org"), permission: .readWrite,
            accepted: Timestamp(milliseconds: 5))
        create.share = ShareInput(
            root: .init(recordName: "list", recordChangeTag: "1e"), publicPermission: SharePermission.none,
            participants: [participant])
        let saved = #"{"records":[{"recordName":"s","recordType":"cloudkit.share","shortGUID":"008S"}]}"#
        let request = try await sent(saved) {
            _ = try await $0.database(.private).modify([create], in: ZoneID(zoneName: "Z"), atomic: true)
        }
        let expected = [
            #"{"operations":[{"operationType":"create","record":{"recordType":"cloudkit.share","fields":{},"forRecord":{"recordName":"list","recordChangeTag":"1e"},"#,
            #""publicPermission":"NONE","participants":[{"participantId":"p","userIdentity":{"nameComponents":{},"lookupInfo":{"emailAddress":"g@x.org"}},"#,
            #""type":"USER","acceptanceStatus":"INVITED","permission":"READ_WRITE"}]}}],"zoneID":{"zoneName":"Z"},"atomic":true}"#,
        ].joined()
        #expect(request.body == expected)
        let reply =
            #"{"results":[{"shortGUID":{"value":"a"},"share":{"recordName":"s"}},{"shortGUID":{"value":"b"},"serverErrorCode":"ACCESS_DENIED","reason":"no"}]}"#
        let resolved = try await sent(reply) { client in
            let results = try await client.database(.shared).resolveShares(["a", "b"])
            #expect(try results[0].get().share.recordID.recordName == "s")
            guard case .failure(let error) = results[1] else { return unexpected(results) }
            #expect(error.code == .accessDenied)
        }
        #expect(
            resolved
                == Sent(
                    "POST", "public/records/resolve",
                    #"{"shortGUIDs":[{"value":"a","shouldFetchRootRecord":true},{"value":"b","shouldFetchRootRecord":true}]}"#
                ))
        let accepted = try await sent(#"{"results":[{"share":{"recordName":"s"}}]}"#) { client in
            let results = try await client.database(.private).acceptShares(["a"], fetchesRoots: false)
            #expect(try results[0].get().shortGUID == "a")
        }
        #expect(
            accepted
                == Sent(
                    "POST", "public/records/accept", #"{"shortGUIDs":[{"value":"a","shouldFetchRootRecord":false}]}"#))
    }

    @Test func zonesFeedsUsersAndUploadsHaveTheirForms() async throws {
        let zones = #"{"zones":[{"zoneID":{"zoneName":"Z"}}]}"#
        let list = try await sent(zones) { client in
            let found = try await client.database(.private).zones()
            #expect(found.count == 1 && found[0].atomic == nil && found[0].syncToken == nil && !found[0].isDeleted)
        }
        #expect(list == Sent("GET", "private/zones/list", ""))
        let lookup = try await sent(zones) { _ = try await $0.database(.private).lookupZones([Self.zone]) }
        #expect(lookup == Sent("POST", "private/zones/lookup", #"{"zones":[{"zoneName":"Z","ownerRecordName":"_o"}]}"#))
        let modify = try await sent(zones) {
            _ = try await $0.database(.private).modifyZones([
                .delete(ZoneID(zoneName: "Z", ownerRecordName: "_defaultOwner"))
            ])
        }
        #expect(
            modify
                == Sent(
                    "POST", "private/zones/modify",
                    #"{"operations":[{"operationType":"delete","zone":{"zoneID":{"zoneName":"Z"}}}]}"#))
        let feed = try await sent(#"{"zones":[],"syncToken":"s"}"#) { client in
            let page = try await client.database(.private).databaseChanges(since: SyncToken("t+/="), limit: 3)
            #expect(page.syncToken.text == "s" && !page.moreComing)
        }
        #expect(feed == Sent("POST", "private/changes/database", #"{"syncToken":"t+/=","resultsLimit":3}"#))
        let pull = ZonePull(
            Self.zone, since: SyncToken("t"), limit: 5, desiredKeys: [], desiredRecordTypes: ["T"], reverse: true)
        let changes = try await sent(#"{"zones":[{"records":[],"syncToken":"s","moreComing":false}]}"#) { client in
            let page = try await client.database(.shared).zoneChanges([pull])[0].get()
            #expect(page.zoneID == Self.zone)
        }
        #expect(
            changes
                == Sent(
                    "POST", "shared/changes/zone",
                    #"{"zones":[{"zoneID":{"zoneName":"Z","ownerRecordName":"_o"},"syncToken":"t","resultsLimit":5,"desiredKeys":[],"desiredRecordTypes":["T"],"reverse":true}]}"#
                ))
        let upload = try await sent(#"{"tokens":[{"recordName":"r","fieldName":"f","url":"https://a/"}]}"#) { client in
            let slots = try await client.database(.private).uploadSlots(
                [UploadRequest(recordType: "T", fieldName: "f")], in: Self.zone)
            #expect(try slots[0].get() == UploadSlot(recordName: "r", fieldName: "f", url: "https://a/"))
        }
        #expect(
            upload.body
                == #"{"tokens":[{"recordType":"T","fieldName":"f"}],"zoneID":{"zoneName":"Z","ownerRecordName":"_o"}}"#)
        let users = try await sent(
            #"{"users":[{"lookupInfo":{"emailAddress":"a@b.c"},"serverErrorCode":"NOT_FOUND"},{"userRecordName":"_u","firstName":"A"}]}"#
        ) { client in
            let found = try await client.database(.private).discoverUsers([.emailAddress("a@b.c"), .phoneNumber("1")])
            #expect(throws: ServerError(codeName: "NOT_FOUND", reason: "NOT_FOUND")) { try found[0].get() }
            #expect(try found[1].get().userRecordName == "_u" && found[1].get().givenName == "A")
        }
        #expect(
            users
                == Sent(
                    "POST", "public/users/discover", #"{"lookupInfos":[{"emailAddress":"a@b.c"},{"phoneNumber":"1"}]}"#)
        )
    }

    @Test(arguments: [
        #"{"users":[{"userRecordName":"_u","nameComponents":{"givenName":"A"}}]}"#,
        #"{"userRecordName":"_u","firstName":"A"}"#,
        #"{"userRecordName":"_x","users":[{"lookupInfo":{"userRecordName":"_u"},"nameComponents":{"givenName":"A"}}]}"#,
    ])
    func theCallerIsReadInEachForm(reply: String) async throws {
        let request = try await sent(reply) { client in
            let user = try await client.database(.shared).caller()
            #expect(user.userRecordName == "_u" && user.givenName == "A" && user.emailAddress == nil)
        }
        #expect(request == Sent("GET", "public/users/caller", ""))
    }

    @Test func subscriptionsHaveTheirForms() async throws {
        let zone = #"{"subscriptionID":"z","subscriptionType":"zone","zoneID":{"zoneName":"Z","ownerRecordName":"_o"}}"#
        let error = #"{"subscriptionID":"q","reason":"no","serverErrorCode":"NOT_FOUND"}"#
        let expected = Subscription("z", to: .zone(Self.zone, recordType: nil))
        let list = try await sent(#"{"subscriptions":[\#(zone)]}"#) { client in
            let found = try await client.database(.private).subscriptions()
            #expect(found == [expected])
        }
        #expect(list == Sent("GET", "private/subscriptions/list", ""))
        let lookup = try await sent(#"{"subscriptions":[\#(zone),\#(error)]}"#) { client in
            let found = try await client.database(.private).lookupSubscriptions(["z", "q"])
            #expect(try found[0].get() == expected)
            guard case .failure(let error) = found[1] else { return unexpected(found) }
            #expect(error.code == .notFound)
        }
        #expect(
            lookup
                == Sent(
                    "POST", "private/subscriptions/lookup",
                    #"{"subscriptions":[{"subscriptionID":"z"},{"subscriptionID":"q"}]}"#))
        var info = NotificationInfo()
        (info.alertBody, info.shouldBadge) = ("Hi", true)
        let query = Query(recordType: "T", filters: [.init("a", .equals, FieldInput(.string("x")))])
        let subject = Subscription.RecordSubject(
            query, firesOn: [.delete, .create], zoneID: ZoneID(zoneName: "Z", ownerRecordName: "__defaultOwner__"))
        let save = SubscriptionOperation.save(Subscription("q", to: .query(subject), notificationInfo: info))
        let modify = try await sent(#"{"subscriptions":[{"subscriptionID":"q"},\#(error)]}"#) { client in
            let answers = try await client.database(.private).modifySubscriptions([save, .delete("d")])
            #expect(try answers[0].get() == "q")
            #expect(throws: ServerError.self) { try answers[1].get() }
        }
        #expect(modify.path == "private/subscriptions/modify")
        let body = [
            #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"q","subscriptionType":"query","#,
            #""query":{"recordType":"T","filterBy":[{"comparator":"EQUALS","fieldName":"a","fieldValue":{"value":"x","type":"STRING"}}],"sortBy":[]},"#,
            #""firesOn":["create","delete"],"firesOnce":false,"zoneWide":false,"zoneID":{"zoneName":"Z","zoneType":"REGULAR_CUSTOM_ZONE"},"#,
            #""notificationInfo":{"alertBody":"Hi","shouldBadge":true}}},{"operationType":"delete","subscription":{"subscriptionID":"d"}}]}"#,
        ].joined()
        #expect(modify.body == body)
    }

    @Test func servicesWithoutAMethodCanBeCalled() async throws {
        let request = try await sent(#"{"results":[]}"#) { client in
            let answer = try await client.database(.public).call(
                "records/resolve", body: object(["shortGUIDs": [["value": "g"]]]), saves: false)
            #expect(answer["results"] == .array([]))
        }
        #expect(request == Sent("POST", "public/records/resolve", #"{"shortGUIDs":[{"value":"g"}]}"#))
        let stage = Stage()
        try await ScriptedServer.run(.json(#"{"apnsToken":"t"}"#), .raw("")) { address, server in
            try await stage.run(address) { client in
                let answer = try await client.callDevice(
                    "tokens/create", body: object(["apnsEnvironment": "development"]))
                #expect(answer["apnsToken"] == "t")
                #expect(try await client.callDevice("tokens/register", body: object(["apnsToken": "t"])).isEmpty)
            }
            #expect(server.requests[0].path == "/device/1/\(Stage.container)/development/tokens/create")
        }
    }

    // MARK: What can't be sent

    @Test func whatCloudKitHasNoWordForIsRefusedBeforehand() async throws {
        let stage = Stage()
        let who = Signature(timestamp: Timestamp(milliseconds: 1), userRecordName: "_a", deviceID: "")
        let operations: [(RecordOperation, String)] = [
            (RecordOperation(.create, recordType: "T", fields: ["f": FieldInput(.double(.nan))]), "finite"),
            (
                RecordOperation(.create, recordType: "T", provenance: Provenance(created: who, modified: who)),
                "who saved"
            ),
            (RecordOperation(.create, zoneID: Self.zone, recordType: "T"), "zone 'Z'"),
        ]
        try await ScriptedServer.run(noZones) { address, server in
            try await stage.run(address) { client in
                for (operation, words) in operations {
                    let failed = await failure {
                        _ = try await client.database(.private).modify([operation], atomic: false)
                    }
                    guard case .invalidRequest(let reason)? = failed?.kind else { return unexpected(failed as Any) }
                    #expect(reason.contains(words))
                }
                let filter = Query.Filter(
                    "f", .near, FieldInput(.location(Location(latitude: 0, longitude: 0))), distance: .infinity)
                #expect(
                    await failure {
                        _ = try await client.database(.private).query(Query(recordType: "T", filters: [filter]))
                    } != nil)
            }
            #expect(server.requests.isEmpty)
        }
    }

    // MARK: Parts

    /// Answers each item of a request with a record of the same name.
    private static let echo: ScriptedServer.Script = { request, _ in
        let names = request.body.matches(of: /"recordName":"(\w+)"/).map { $0.output.1 }
        return .json(
            #"{"records":[\#(names.map { #"{"recordName":"\#($0)","recordType":"T"}"# }.joined(separator: ","))]}"#)
    }

    @Test(
        arguments: [(0, []), (1, [1]), (200, [200]), (201, [200, 1]), (400, [200, 200]), (431, [200, 200, 31])]
            as [(Int, [Int])])
    func manyItemsAreSentInParts(count: Int, parts: [Int]) async throws {
        let stage = Stage()
        let names = (0..<count).map { Name("r\($0)") }
        try await ScriptedServer.run(Self.echo) { address, server in
            try await stage.run(address) { client in
                let found = try await client.database(.private).lookup(names)
                #expect(try found.map { try $0.get().recordID.recordName } == names)
                let saved = try await client.database(.private).modify(
                    names.map { RecordOperation(.forceDelete, recordName: $0) }, atomic: false)
                #expect(saved.count == count)
            }
            let sizes = server.requests.map { $0.body.matches(of: /"recordName":/).count }
            #expect(sizes == parts + parts)
        }
    }

    @Test func aFailedPartSaysWhichItIs() async throws {
        let stage = Stage()
        let operations = (0..<431).map { RecordOperation(.forceUpdate, recordName: Name("r\($0)"), recordType: "T") }
        for reply in [ScriptedServer.Reply.close, .error("QUOTA_EXCEEDED", status: 413)] {
            try await ScriptedServer.run({ request, number in number == 1 ? reply : Self.echo(request, number) }) {
                address, server in
                try await stage.run(address) { client in
                    let failed = await failure {
                        _ = try await client.database(.private).modify(operations, atomic: false)
                    }
                    #expect(failed?.part == 200..<400 && failed?.answered.count == 200 && server.requests.count == 2)
                    #expect(failed?.answered.allSatisfy { (try? $0.get()) != nil } == true)
                    #expect(failed?.description.contains("the items 200 to 399") == true)
                }
            }
        }
        // Parts of an atomic request could be done without the others.
        try await ScriptedServer.run(Self.echo) { address, server in
            try await stage.run(address) { client in
                let failed = await failure { _ = try await client.database(.private).modify(operations, atomic: true) }
                guard case .invalidRequest? = failed?.kind else { return unexpected(failed as Any) }
                #expect(server.requests.isEmpty)
            }
        }
    }

    @Test func cancellingBetweenPartsKeepsTheOutcomes() async throws {
        let stage = Stage()
        let operations = (0..<300).map { RecordOperation(.forceUpdate, recordName: Name("r\($0)"), recordType: "T") }
        let saving = Mutex<Task<CloudKitFailure?, Never>?>(nil)
        try await ScriptedServer.run(Self.echo) { address, server in
            try await stage.run(address) { client in
                let database = client.database(.private).observing { event in
                    if case .answered = event { saving.withLock { $0?.cancel() } }
                }
                let task = saving.withLock { saving in
                    let task = Task { await failure { _ = try await database.modify(operations, atomic: false) } }
                    saving = task
                    return task
                }
                let failed = await task.value
                #expect(
                    failed?.kind == .cancelled && failed?.part == 200..<300 && failed?.answered.count == 200
                        && server.requests.count == 1)
            }
        }
    }

    /// A Skylight's log tells apps without an id apart by their user agents.
    @Test func theProductBeginsTheUserAgent() async throws {
        let stage = Stage()
        try await ScriptedServer.run(.json(#"{"zones":[]}"#)) { address, server in
            for (product, agent) in [
                (nil, SkylightVersion.userAgent), ("Notes/2.1", "Notes/2.1 \(SkylightVersion.userAgent)"),
            ] {
                try await stage.run(address, { $0.product = product }) { client in
                    _ = try await client.database(.private).zones()
                }
                #expect(server.requests.last?.headers["user-agent"] == agent)
            }
            let refused = await failure { try await stage.run(address, { $0.product = "Notes\r\nX: 1" }) { _ in } }
            guard case .invalidRequest? = refused?.kind else { return unexpected(refused as Any) }
        }
    }

    @Test func fewerAnswersThanItemsAreNoAnswer() async throws {
        let stage = Stage()
        try await ScriptedServer.run(.json(#"{"records":[]}"#, ["X-Apple-Request-UUID": "apple-1"])) { address, _ in
            try await stage.run(address) { client in
                let read = await failure { _ = try await client.database(.private).lookup(["a"]) }
                guard case .unexpectedAnswer? = read?.kind else { return unexpected(read as Any) }
                #expect(read?.requestID != nil && read?.appleRequestUUID == "apple-1" && read?.attempts == 1)
                let save = await failure { try await client.database(.private).save() }
                guard case .answerLost? = save?.kind else { return unexpected(save as Any) }
            }
        }
    }
}
