import Accounts
import RecordStore
import Records
import RequestLog
import TestSupport
import Testing

/// The log entries of each kind of request, over a real socket.
@Suite("Noting requests") struct RequestNotingTests {
    private static let zone = ZoneID(zoneName: "Z")

    @Test("A save is noted with who, where, what came of each item, and both bodies")
    func modify() async throws {
        try await TestServer.run { server in
            let client = NotedClient(
                server: server,
                headers: [
                    "X-Skylight-Client: Notes", "X-Skylight-Device: iPad", "X-Skylight-User: anna",
                    "User-Agent: test/1",
                ])
            let body = """
                {"operations":[{"operationType":"create","record":{"recordType":"N","recordName":"a"}},
                {"operationType":"update","record":{"recordType":"N","recordName":"gone","recordChangeTag":"1"}}]}
                """
            let answer = try await client.send("POST", "records/modify?clientId=other", body)
            #expect(answer.status == 200)
            let noted = try client.noted(answer)
            #expect(
                noted.operation == "records/modify" && noted.address == ScenarioRunner.address && noted.method == "POST"
            )
            #expect(noted.target == "\(NotedClient.root)/records/modify?clientId=other")
            #expect(noted.userRecordName == User.recordName(ofHandle: "anna"))
            #expect(noted.client == ClientIdentity(name: "Notes", deviceID: "iPad", userAgent: "test/1"))
            #expect(noted.status == 200 && noted.error == nil && noted.records == 1 && noted.zoneIDs == [.default])
            #expect(
                noted.itemErrors.map(\.name) == ["gone"] && noted.itemErrors.map(\.code) == [.notFound],
                "\(noted.itemErrors)")
            #expect(noted.bytesIn == body.utf8.count && noted.bytesOut == answer.body.count)
            #expect(
                noted.milliseconds > 0 && noted.milliseconds < 60_000
                    && abs(noted.started.milliseconds - Timestamp.now().milliseconds) < 60_000)
            #expect(!noted.isStream && !noted.isBrokenOff && noted.hasErrors)
            let bodies = try #require(server.log.bodies(of: noted.id))
            #expect(bodies.request?.bytes == Array(body.utf8) && bodies.response?.bytes == answer.body)
            let anna = Caller(userRecordName: User.recordName(ofHandle: "anna"))
            let database = try await server.engine.database(ScenarioRunner.address, as: anna)
            let journal = try await database.require(.keepJournal).journal(
                RecordJournalRequest(RecordID(recordName: "a")))
            #expect(journal.entries.map(\.requestID) == [noted.id])
        }
    }

    @Test(
        "A request of the console's own pages has the console's name, unless it brings one",
        arguments: [
            (["Sec-Fetch-Site: same-origin"], ClientIdentity.consoleName),
            (["Sec-Fetch-Site: same-origin", "X-Skylight-Client: Notes"], "Notes"),
            (["Sec-Fetch-Site: none"], nil),
        ] as [([String], String?)])
    func console(headers: [String], name: String?) async throws {
        try await TestServer.run { server in
            let client = NotedClient(server: server, headers: headers)
            let noted = try client.noted(try await client.send("GET", "zones/list"))
            #expect(noted.client.name == name && noted.client.isOfSkylight == (name == ClientIdentity.consoleName))
        }
    }

    @Test("A query is noted with how it was answered, and one that was refused without")
    func plans() async throws {
        try await NotedClient.run { client in
            try await client.save(["a"])
            let database = try await client.server.engine.database(ScenarioRunner.address, as: ScenarioRunner.developer)
            _ = try await database.require(.editSchema).edit([.addIndexes(.queryable, of: .system(.recordID), in: "N")])
            let noted = try client.noted(try await client.post("records/query", #"{"query":{"recordType":"N"}}"#))
            let expected = try await database.query(QueryRequest(Query(recordType: "N"))).plan
            #expect(
                noted.plan == expected.map { ServedRequest.Plan(index: $0.index?.description, sentence: $0.summary) }
                    && noted.plan != nil)
            let told = try await client.send("GET", "/skylight/1/requests/\(noted.id)")
            #expect(Subset.value(at: "plan", in: try told.json()) == noted.plan.map { .string($0.sentence) })
            let refused = try client.noted(
                try await client.post("records/query", #"{"query":{"recordType":"Nothing"}}"#))
            #expect(refused.plan == nil && refused.recordType == "Nothing")
        }
    }

    @Test("An answer to a lookup has a limit, and names that are beyond it say so")
    func lookupLimit() async throws {
        try await NotedClient.run { client in
            let database = try await client.server.engine.database(ScenarioRunner.address, as: ScenarioRunner.developer)
            let text = FieldInput(.string(String(repeating: "x", count: 980_000)))
            let names = (0..<35).map { Name("r\($0)") }
            for name in names {
                let operation = RecordOperation(.forceUpdate, recordName: name, recordType: "N", fields: ["text": text])
                for outcome in try await database.modify(ModifyRequest([operation])) { _ = try outcome.get() }
            }
            let records = names.map { #"{"recordName":"\#($0)"}"# }.joined(separator: ",")
            let answer = try await client.post("records/lookup", "{\"records\":[\(records)]}")
            #expect(answer.status == 200 && answer.body.count < 34 << 20)
            let noted = try client.noted(answer)
            #expect(
                noted.records == 34 && noted.itemErrors.map(\.name) == ["r34"]
                    && noted.itemErrors.map(\.code) == [.badRequest])
            let few = try await client.post("records/lookup", "{\"records\":[\(records)],\"desiredKeys\":[]}")
            #expect(try client.noted(few).records == 35)
            // Only the fields requested for each item count, even if more had to be read.
            let own = names.map { #"{"recordName":"\#($0)","desiredKeys":["other"]}"# }
            let parts = try await client.post("records/lookup", "{\"records\":[\(own.joined(separator: ","))]}")
            #expect(try client.noted(parts).records == 35)
            let whole = #"{"recordName":"r34"}"#
            let mixed = try await client.post(
                "records/lookup", "{\"records\":[\((own.dropLast() + [whole]).joined(separator: ","))]}")
            #expect(try client.noted(mixed).records == 35 && mixed.body.count > 980_000 && mixed.body.count < 1 << 20)
            let most = names.dropLast().map { #"{"recordName":"\#($0)"}"# } + [own[34]]
            #expect(
                try client.noted(
                    try await client.post("records/lookup", "{\"records\":[\(most.joined(separator: ","))]}")
                ).records == 35)
        }
    }

    @Test(
        "A client has one id: in the log, in the records that it saves and in its token",
        arguments: [
            ("", #"{"clientId":"phone"}"#, [], "phone"), ("?clientId=phone", "{}", [], "phone"),
            ("?clientId=phone", #"{"clientId":"other"}"#, [], "phone"),
            ("?clientId=other", #"{"clientId":"other"}"#, ["X-Skylight-Device: phone"], "phone"),
            ("", #"{"clientId":"phone"}"#, ["X-Skylight-Device: iCloud"], "phone"),
            ("", #"{"clientId":"iCloud"}"#, [], nil), ("", "{}", ["X-Skylight-Client: Notes"], nil),
        ] as [(String, String, [String], String?)])
    func oneID(query: String, body: String, headers: [String], id: String?) async throws {
        try await TestServer.run { server in
            let client = NotedClient(server: server, headers: ["X-Skylight-User: anna"] + headers)
            let made = try await client.send(
                "POST", "/device/1/\(ScenarioRunner.container)/development/tokens/create\(query)", body)
            #expect(try client.noted(made).client.deviceID == id)
            #expect(server.accounts.notificationTokens { _ in true }.map(\.clientID) == [id])
        }
    }

    @Test("Clients that send no header are known by clientId, and others by their user agent")
    func identities() async throws {
        try await TestServer.run { server in
            let client = NotedClient(server: server, headers: ["User-Agent: test/1"])
            let first = try client.noted(try await client.send("GET", "zones/list?clientId=abc"))
            let second = try client.noted(try await client.send("GET", "zones/list"))
            #expect(first.client.id == "abc" && second.client.id == "test/1")
            #expect(server.log.clients.clients.map(\.identity.id).sorted() == ["abc", "test/1"])
        }
    }

    @Test(
        "A request that fails as a whole is noted, under the uuid that its error says",
        arguments: [
            ("POST", "records/query", #"{"query":{"recordType":"Nothing"}}"#, 404, "records/query"),
            ("POST", "records/query", "no json", 400, "records/query"),
            ("POST", "records/nothing", "{}", 404, "\(NotedClient.root)/records/nothing"),
            ("POST", "subscriptions/modify", "{}", 400, "subscriptions/modify"),
            ("DELETE", "records/query", "", 405, "records/query"),
            (
                "POST", "/database/1/nonsense/development/private/records/query", "{}", 400,
                "/database/1/nonsense/development/private/records/query"
            ),
            ("POST", "/database/1", "{}", 404, "/database/1"),
            ("GET", "\(NotedClient.skylight)/changes/follow", "", 400, "skylight/changes/follow"),
            ("POST", "\(NotedClient.skylight)/nothing", "{}", 404, "\(NotedClient.skylight)/nothing"),
        ])
    func failures(method: String, path: String, body: String, status: Int, operation: String) async throws {
        try await TestServer.run { server in
            let client = NotedClient(server: server)
            let answer = try await client.send(method, path, body)
            #expect(answer.status == status, "\(answer.text)")
            let noted = try client.noted(answer)
            #expect(try client.token(answer, "uuid") == noted.id)
            #expect(noted.status == status && noted.operation == operation, "\(noted.operation)")
            #expect(try noted.error?.code.rawValue == client.token(answer, "serverErrorCode"))
            #expect(try noted.error?.reason == client.token(answer, "reason"))
            #expect(server.log.bodies(of: noted.id)?.response?.bytes == answer.body)
            #expect(server.log.latest(10).count == 1)
        }
    }

    @Test("A body that is too large is refused and noted without it")
    func tooLarge() async throws {
        try await NotedClient.run { client in
            let head =
                "POST \(NotedClient.root)/records/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n"
            let answer = try #require(try await client.server.client.exchange(head + "{").first)
            #expect(answer.status == 413)
            let noted = try client.noted(answer)
            #expect(
                noted.status == 413 && noted.error?.code == .badRequest
                    && client.server.log.bodies(of: noted.id)?.request == nil)
        }
    }

    @Test(
        "The declared size of an unread body is not counted",
        arguments: [
            "POST \(NotedClient.root)/records/query", "PUT /assets/\(ScenarioRunner.container)/development/upload/x",
        ])
    func immense(line: String) async throws {
        try await TestServer.run { server in
            let head = "\(line) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(Int.max)\r\n\r\n"
            for _ in 0..<3 {
                let answer = try #require(try await server.client.exchange(head + "{").first)
                #expect(answer.status == 413 || answer.status == 404)
            }
            let noted = server.log.latest(.max)
            #expect(noted.count == 3 && noted.allSatisfy { $0.bytesIn == 0 && $0.hasUnreadBody })
            let read = try NotedClient(server: server).noted(
                try await NotedClient(server: server).post("zones/list", "{}"))
            #expect(read.bytesIn == 2 && !read.hasUnreadBody)
        }
    }

    @Test("Tokens for iCloud and tickets of uploads are not kept")
    func secrets() async throws {
        try await NotedClient.run { client in
            let query =
                "ckAPIToken=0secret1&x=1&ck%57ebAuthToken=0secret2%3D&CKSESSION=0secret3&clientId=a&ckAPIToken&flag"
            let answer = try await client.send("GET", "zones/list?\(query)")
            #expect(answer.status == 200)
            #expect(
                try client.noted(answer).target
                    == "\(NotedClient.root)/zones/list?ckAPIToken=hidden&x=1&ck%57ebAuthToken=hidden&CKSESSION=hidden&clientId=a&ckAPIToken=hidden&flag"
            )
            for path in [
                "development/upload/0secret4", "development/upload/0secret4/more", "nowhere/upload/0secret4?a=1",
            ] {
                let refused = try await client.send("POST", "/assets/\(ScenarioRunner.container)/\(path)", "x")
                let noted = try client.noted(refused)
                #expect(
                    noted.target.contains("/upload/hidden") && noted.target.hasSuffix("?a=1") == path.hasSuffix("?a=1"),
                    "\(noted.target)")
            }
            try await client.post("records/nothing?ckAPIToken=0secret5", "{}")
            for path in ["requests", "clients", "requests/\(try client.noted(answer).id)?bodies=1"] {
                #expect(try await !client.send("GET", "/skylight/1/\(path)").text.contains("0secret"), "\(path)")
            }
            #expect(try await client.send("GET", "/skylight/1/requests?text=0secret").text == #"{"requests":[]}"#)
        }
    }

    @Test("A request that is refused makes no user of whom it names")
    func nobody() async throws {
        try await TestServer.run { server in
            let client = NotedClient(server: server, headers: ["X-Skylight-User: bbo"])
            let answer = try await client.post("records/qery", "{}")
            #expect(try answer.status == 404 && client.noted(answer).userRecordName == User.recordName(ofHandle: "bbo"))
            #expect(try await !client.send("GET", "/skylight/1/users").text.contains("bbo"))
            let long = try await client.send(
                "POST", "records/qery?skylightUser=", "{}", ["X-Skylight-User: \(String(repeating: "x", count: 300))"])
            #expect(long.status == 404)
        }
    }

    @Test("The journal of a record and a restore are noted with their zone and records")
    func journal() async throws {
        try await NotedClient.run { client in
            try await client.save(["a"])
            try await client.save(["a"])
            let answer = try await client.post(
                "\(NotedClient.skylight)/records/journal", #"{"recordName":"a","zoneID":{"zoneName":"Z"}}"#)
            let noted = try client.noted(answer)
            #expect(noted.zoneIDs == [Self.zone] && noted.records >= 1)
            guard case .integer(let position)? = Subset.value(at: "changes[0].position", in: try answer.json()) else {
                Issue.record("no position in \(answer.text)")
                return
            }
            let revert = try await client.post(
                "\(NotedClient.skylight)/records/revert",
                #"{"recordName":"a","zoneID":{"zoneName":"Z"},"position":\#(position)}"#)
            let restored = try client.noted(revert)
            #expect(
                restored.zoneIDs == [Self.zone] && restored.records == (revert.status == 200 ? 1 : 0), "\(revert.text)")
        }
    }

    @Test("Server services, preflights and downloads are not recorded")
    func notNoted() async throws {
        try await TestServer.run { server in
            let client = NotedClient(server: server)
            for path in ["health", "users", "containers", "requests", "clients", "rehearsals"] {
                let answer = try await client.send("GET", "/skylight/1/\(path)")
                #expect(answer.status == 200 && answer.headers["x-skylight-request"]?.utf8.count == 36, "\(path)")
            }
            try await client.send("OPTIONS", "records/query", "", ["Origin: http://localhost:3000"])
            try await client.send("GET", "/assets/\(ScenarioRunner.container)/development/download/x/y")
            #expect(server.log.latest(10).isEmpty)
            let foreign = try await client.send("POST", "records/query", "{}", ["Origin: https://evil.example"])
            #expect(foreign.status == 403 && server.log.latest(10).isEmpty)
            #expect(try client.token(foreign, "uuid").utf8.count == 36)
        }
    }

    // MARK: Reading

    @Test("A query says its type and whether it polls; a fetch says whom it did not find")
    func reading() async throws {
        try await NotedClient.run { client in
            try await client.save(["a", "b"])
            let index =
                #"{"edits":[{"addIndexes":["QUERYABLE"],"field":"modifiedTimestamp","recordType":"N"},{"addIndexes":["QUERYABLE"],"field":"recordName","recordType":"N"}]}"#
            #expect(try await client.post("\(NotedClient.skylight)/schema/edit", index).status == 200)
            let filter =
                #"{"systemFieldName":"modifiedTimestamp","comparator":"GREATER_THAN","fieldValue":{"value":0,"type":"TIMESTAMP"}}"#
            var notes: [ServedRequest] = []
            for _ in 0..<3 {
                let answer = try await client.post(
                    "records/query", #"{"zoneID":{"zoneName":"Z"},"query":{"recordType":"N","filterBy":[\#(filter)]}}"#)
                #expect(answer.status == 200, "\(answer.text)")
                notes.append(try client.noted(answer))
            }
            #expect(
                notes.allSatisfy {
                    $0.recordType == "N" && $0.records == 2 && $0.zoneIDs == [Self.zone] && $0.asksByModificationTime
                })
            #expect(notes.map(\.warnings) == [[], [], [.pollingByClock]])
            let page = try await client.post(
                "records/query", #"{"zoneID":{"zoneName":"Z"},"resultsLimit":1,"query":{"recordType":"N"}}"#)
            let marker = try client.token(page, "continuationMarker")
            let next = try await client.post(
                "records/query",
                #"{"zoneID":{"zoneName":"Z"},"continuationMarker":"\#(marker)","query":{"recordType":"N"}}"#)
            #expect(
                try !client.noted(page).isContinuation && client.noted(next).isContinuation
                    && !client.noted(next).asksByModificationTime)
            let fetch = try client.noted(
                try await client.post(
                    "records/lookup",
                    #"{"zoneID":{"zoneName":"Z"},"records":[{"recordName":"a"},{"recordName":"nobody"}]}"#))
            #expect(fetch.records == 1 && fetch.itemErrors.map(\.name) == ["nobody"] && fetch.zoneIDs == [Self.zone])
        }
    }

    @Test("Fields that the schema lacks, and times in seconds, are named; what is right is not")
    func mistakes() async throws {
        try await NotedClient.run { client in
            let save = { (fields: String) in
                #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"forceUpdate","record":{"recordName":"t","recordType":"T","fields":{\#(fields)}}}]}"#
            }
            try await client.save(["a"])
            let right = try client.noted(
                try await client.post(
                    "records/modify",
                    save(#""due":{"value":1790000000000,"type":"TIMESTAMP"},"n":{"value":1790000000}"#)))
            #expect(right.status == 200 && right.mistakes.isEmpty)
            let seconds = try client.noted(
                try await client.post(
                    "records/modify", save(#""due":{"value":1790000000,"type":"TIMESTAMP"},"n":{"value":1790000000}"#)))
            #expect(seconds.warnings == [.timestampInSeconds] && seconds.mistakes[.timestampInSeconds] == "due")
            // The schema decides the type of a value without one.
            let untyped = try client.noted(
                try await client.post("records/modify", save(#""due":{"value":1790000000},"n":{"value":1790000000}"#)))
            #expect(untyped.mistakes == [.timestampInSeconds: "due"])
            let keys = { (keys: String) in
                #"{"zoneID":{"zoneName":"Z"},"records":[{"recordName":"t"}],"desiredKeys":[\#(keys)]}"#
            }
            let known = try client.noted(
                try await client.post("records/lookup", keys(#""due","recordName","___modTime""#)))
            #expect(known.mistakes.isEmpty && known.warnings.isEmpty)
            let unknown = try client.noted(try await client.post("records/lookup", keys(#""due","titel","_x""#)))
            #expect(unknown.warnings == [.unknownDesiredKeys] && unknown.mistakes == [.unknownDesiredKeys: "_x, titel"])
            let pull = try client.noted(
                try await client.post(
                    "changes/zone", #"{"zones":[{"zoneID":{"zoneName":"Z"},"desiredKeys":["titel"]}]}"#))
            #expect(pull.mistakes == [.unknownDesiredKeys: "titel"])
            let listed = try await client.send("GET", "/skylight/1/requests?resultsLimit=1")
            #expect(listed.text.contains(#""mistakes":{"unknownDesiredKeys":"titel"}"#))
        }
    }

    @Test("A save with the same stale tag, and one that production refuses each time, are named when they come again")
    func repeatedRefusals() async throws {
        try await NotedClient.run { client in
            try await client.save(["a"])
            let stale =
                #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"update","record":{"recordName":"a","recordType":"N","recordChangeTag":"zz","fields":{}}}]}"#
            let conflicts = [
                try await client.post("records/modify", stale), try await client.post("records/modify", stale),
            ]
            #expect(try conflicts.map { try client.noted($0).warnings } == [[], [.staleTagAgain]])
            let new =
                #"{"operations":[{"operationType":"create","record":{"recordName":"p","recordType":"Undeployed","fields":{"x":{"value":1}}}}]}"#
            let production = "/database/1/\(ScenarioRunner.container)/production/private/records/modify"
            let refused = [try await client.post(production, new), try await client.post(production, new)]
            #expect(try refused.map { try client.noted($0).warnings } == [[], [.refusedAgain]])
        }
    }

    @Test(
        "A query that begins again without the marker for its next page is named, also one that asks for the most records"
    )
    func leftPages() async throws {
        try await NotedClient.run { client in
            for start in [0, 200] { try await client.save((start..<start + 150).map { "r\($0)" }) }
            let index = #"{"edits":[{"addIndexes":["QUERYABLE"],"field":"recordName","recordType":"N"}]}"#
            #expect(try await client.post("\(NotedClient.skylight)/schema/edit", index).status == 200)
            let query = { (more: String) in #"{"zoneID":{"zoneName":"Z"},"query":{"recordType":"N"}\#(more)}"# }
            let first = try await client.post("records/query", query(""))
            let marker = try client.token(first, "continuationMarker")
            let next = try client.noted(
                try await client.post("records/query", query(#","continuationMarker":"\#(marker)""#)))
            #expect(try client.noted(first).warnings.isEmpty && next.warnings.isEmpty)
            let again = [
                try await client.post("records/query", query("")),
                try await client.post("records/query", query(#","resultsLimit":200"#)),
            ]
            #expect(try again.map { try client.noted($0).warnings } == [[], [.continuationNotFollowed]])
            // Who asks for the latest ten wants no next page.
            let few = [
                try await client.post("records/query", query(#","resultsLimit":10"#)),
                try await client.post("records/query", query(#","resultsLimit":10"#)),
            ]
            #expect(try few.allSatisfy { try client.noted($0).warnings.isEmpty })
        }
    }

    // MARK: Changes

    @Test("Pulls are noted with the tokens that were sent and given, each zone for itself")
    func pulls() async throws {
        try await TestServer.run { server in
            let client = NotedClient(server: server)
            try await client.save(["a", "b", "c"])
            let first = try await client.post(
                "changes/zone",
                #"{"resultsLimit":2,"desiredRecordTypes":["N"],"zones":[{"zoneID":{"zoneName":"Z"},"desiredKeys":["x"]},{"zoneID":{"zoneName":"no"}}]}"#
            )
            let token = try client.token(first, "zones[0].syncToken")
            let noted = try client.noted(first)
            #expect(
                noted.pulls.count == 2 && noted.records == 2 && noted.status == 200
                    && noted.itemErrors.map(\.code) == [.zoneNotFound])
            #expect(noted.zoneIDs == [Self.zone, ZoneID(zoneName: "no")])
            let pull = try #require(noted.pulls.first)
            #expect(
                pull.zoneID == Self.zone && pull.sent == nil && pull.given?.text == token && pull.moreComing
                    && pull.changes == 2)
            #expect(pull.keys == ["x"] && pull.recordTypes == ["N"] && pull.error == nil)
            #expect(noted.pulls.last?.error?.code == .zoneNotFound && noted.pulls.last?.given == nil)

            let second = try await client.post(
                "records/changes", #"{"zoneID":{"zoneName":"Z"},"syncToken":"\#(token)"}"#)
            let next = try #require(try client.noted(second).pulls.first)
            #expect(
                try next.sent?.text == token && next.given?.text == client.token(second) && !next.moreComing
                    && next.changes == 1)

            let database = try await client.post("changes/database", "{}")
            let list = try client.noted(database)
            #expect(
                try list.pulls.first?.zoneID == nil && list.pulls.first?.given?.text == client.token(database)
                    && list.pulls.first?.changes == 1)
            #expect(list.records == 0)

            // A database token is invalid for a zone.
            let wrong = try client.noted(
                try await client.post(
                    "records/changes", #"{"zoneID":{"zoneName":"Z"},"syncToken":"\#(try client.token(database))"}"#))
            #expect(
                wrong.status == 400 && wrong.pulls.first?.error?.known == .unknownToken
                    && wrong.warnings == [.tokenOfAnotherZone])
            let ignored = try client.noted(try await client.post("zones/changes", #"{"syncToken":"\#(token)"}"#))
            #expect(ignored.warnings == [.ignoredSyncToken, .restartedFromNothing])

            let feed = try #require(server.log.clients.clients.first?.feed(of: Self.zone))
            #expect(feed.pullCount == 3 && feed.changes == 3 && feed.error?.known == .unknownToken)
            #expect(feed.deliveries.first?.requestID == noted.id)
        }
    }

    @Test("Sending an expired token again is a loop")
    func loop() async throws {
        try await NotedClient.run { client in
            try await client.save(["a"])
            let token = try client.token(try await client.post("records/changes", #"{"zoneID":{"zoneName":"Z"}}"#))
            #expect(try await client.post("\(NotedClient.skylight)/tokens/expire", "{}").status == 200)
            let pull = #"{"zones":[{"zoneID":{"zoneName":"Z"},"syncToken":"\#(token)"}]}"#
            let first = try client.noted(try await client.post("changes/zone", pull))
            let second = try client.noted(try await client.post("changes/zone", pull))
            #expect(first.pulls.first?.error?.known == .expiredToken && first.warnings.isEmpty)
            #expect(second.warnings == [.loopAfterExpiry])
        }
    }

    @Test("A playback is noted when it ends, as one pull from its beginning to its last token")
    func playback() async throws {
        try await TestServer.run { server in
            let client = NotedClient(server: server)
            try await client.save((0..<150).map { "r\($0)" })
            for number in 1..<6 { try await client.save((0..<150).map { "r\(number)-\($0)" }) }
            let answer = try await client.send("GET", "\(NotedClient.skylight)/changes/playback?zone=Z")
            let lines = answer.text.split(separator: "\n")
            guard case .object(let last) = try JSONReader.value(of: String(lines.last ?? "")),
                case .string(let token)? = last["syncToken"]
            else {
                Issue.record("no last token")
                return
            }
            let id = try #require(answer.headers["x-skylight-request"])
            try await eventually { server.log.request(id) != nil }
            let noted = try client.noted(answer)
            #expect(
                noted.isStream && !noted.isBrokenOff && noted.operation == "skylight/changes/playback"
                    && noted.status == 200)
            #expect(
                noted.pulls == [
                    ServedRequest.Pull(
                        zoneID: Self.zone, sent: nil, given: ChangeToken(text: token), moreComing: false, changes: 900)
                ])
            #expect(noted.records == 900 && noted.bytesOut == answer.body.count)
            let body = try #require(server.log.bodies(of: noted.id)?.response)
            #expect(
                body.isCut && body.bytes == Array(answer.body.prefix(RequestBodies.limit))
                    && body.total == answer.body.count)
            let wrong = try client.noted(
                try await client.send("GET", "\(NotedClient.skylight)/changes/playback?zone=Z&since=garbage"))
            #expect(
                wrong.status == 400 && wrong.pulls.first?.error?.known == .unknownToken
                    && wrong.pulls.first?.sent == ChangeToken(text: "garbage"))
        }
    }

    @Test("A follower that disconnects is recorded with the changes sent so far")
    func follow() async throws {
        try await TestServer.run { server in
            let client = NotedClient(server: server)
            try await client.save(["a"])
            let start = try client.token(try await client.send("GET", "\(NotedClient.skylight)/token/current?zone=Z"))
            let head = NotedClient.head(
                "GET", "\(NotedClient.skylight)/changes/follow?zone=Z", client.headers, length: 0)
            // The first event says that the client follows from now on.
            _ = try await server.client.beginning(of: head, until: #""recordName":"b""#, after: "event: changes") {
                try await client.save(["b"])
            }
            // The server notices the disconnection with its next write.
            try await eventually {
                try await client.save(["c"])
                return server.log.latest(.max).contains { $0.operation == "skylight/changes/follow" }
            }
            let noted = try #require(server.log.latest(.max).first { $0.operation == "skylight/changes/follow" })
            #expect(noted.isStream && noted.isBrokenOff && noted.pulls.count == 1)
            #expect(
                noted.pulls.first?.sent?.text == start && noted.pulls.first?.changes ?? 0 >= 1
                    && noted.pulls.first?.given?.text != start)
        }
    }

    // MARK: Files, fault injection, log off

    @Test("An upload is noted without the file's bytes")
    func upload() async throws {
        try await TestServer.run { server in
            let assets = AssetClient(server: server)
            let slot = try await assets.slot()
            let answer = try await assets.send("POST", slot.path, body: [UInt8](repeating: 9, count: 5000))
            #expect(answer.status == 200)
            let noted = try NotedClient(server: server).noted(answer)
            #expect(
                noted.operation == "assets/file" && noted.container == ScenarioRunner.address.container
                    && noted.address == nil)
            #expect(noted.bytesIn == 5000 && server.log.bodies(of: noted.id)?.request == nil)
            let refused = try await assets.send("POST", slot.path + "x", body: [1])
            #expect(try NotedClient(server: server).noted(refused).error?.code == .notFound)
        }
    }

    @Test("A rehearsed failure is noted as one, with the client that it met")
    func rehearsed() async throws {
        try await TestServer.run { server in
            let client = NotedClient(server: server)
            let answer = try await client.send("POST", "changes/database", "{}", ["X-Skylight-Rehearse: throttled"])
            #expect(answer.status == 429)
            let noted = try client.noted(answer)
            #expect(
                noted.rehearsals == "throttled" && noted.operation == "changes/database"
                    && noted.error?.code == .throttled)
            let sent = server.log.bodies(of: noted.id)?.request?.bytes
            #expect(sent == Array("{}".utf8), "so that it can be replayed")
            #expect(
                noted.address == ScenarioRunner.address
                    && noted.userRecordName == ScenarioRunner.developer.userRecordName)
            #expect(try client.token(answer, "uuid") == noted.id)
            let head = NotedClient.head(
                "POST", "\(NotedClient.root)/changes/database", client.headers + ["X-Skylight-Rehearse: dropped-after"],
                length: 2)
            #expect(try await server.client.exchange(head + "{}").isEmpty)
            // The connection ends before the request is noted.
            try await eventually { server.log.latest(1).first?.isBrokenOff == true }
            let dropped = try #require(server.log.latest(1).first)
            #expect(dropped.isBrokenOff && dropped.status == 0 && dropped.pulls.count == 1)
        }
    }

    @Test("With a log of no requests nothing is noted, and answers still say what their requests are known by")
    func off() async throws {
        try await TestServer.run(log: RequestLog(capacity: 0)) { server in
            let client = NotedClient(server: server)
            try await client.save(["a"])
            let answer = try await client.post("records/query", "{}")
            #expect(try answer.headers["x-skylight-request"] == client.token(answer, "uuid"))
            #expect(server.log.latest(10).isEmpty)
            #expect(try await client.send("GET", "/skylight/1/requests").text == #"{"requests":[]}"#)
        }
    }
}
