import Records
import TestSupport
import Testing

@testable import RequestLog

/// The conclusions from a client's requests, and their limits.
@Suite("Client book") struct ClientBookTests {
    /// The warnings for requests with one pull each, ten seconds apart.
    private func warnings(_ pulls: [ServedRequest.Pull]) -> [[RequestWarning]] {
        var book = ClientBook()
        return pulls.enumerated().map { number, pull in
            book.note(
                Requests.request(String(number), at: Int64(number) * 10, operation: "changes/zone") {
                    $0.pulls = [pull]
                })
        }
    }

    struct Story: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let pulls: [ServedRequest.Pull]
        /// The warning about the last pull.
        let warning: RequestWarning?

        init(_ name: String, _ warning: RequestWarning?, _ pulls: ServedRequest.Pull...) {
            (testDescription, self.pulls, self.warning) = (name, pulls, warning)
        }
    }

    static let stories: [Story] = [
        Story(
            "goes on with each token", nil, Requests.pull(nil, "1", more: true), Requests.pull("1", "2"),
            Requests.pull("2", "3")),
        Story(
            "is up to date and asks again", nil, Requests.pull("2", "2", changes: 0),
            Requests.pull("2", "2", changes: 0)),
        Story("does not keep the token", .repeatedToken, Requests.pull("1", "2"), Requests.pull("1", "3")),
        Story(
            "leaves pages", .moreComingNotFollowed, Requests.pull("1", "2", more: true),
            Requests.pull("1", "2", more: true)),
        Story(
            "begins anew in the middle", .moreComingNotFollowed, Requests.pull(nil, "1", more: true),
            Requests.pull(nil, "1", more: true)),
        Story(
            "skips from a page to an older token", .moreComingNotFollowed, Requests.pull("1", "2", more: true),
            Requests.pull("0", "2")),
        Story("begins anew", .restartedFromNothing, Requests.pull(nil, "1"), Requests.pull(nil, "1")),
        Story(
            "begins anew after expiry", nil, Requests.pull(nil, "1"),
            Requests.pull("1", nil, changes: 0, error: Requests.expired), Requests.pull(nil, "5")),
        Story(
            "sends an expired token again", .loopAfterExpiry, Requests.pull(nil, "1"),
            Requests.pull("1", nil, changes: 0, error: Requests.expired),
            Requests.pull("1", nil, changes: 0, error: Requests.expired)),
        Story(
            "begins anew and then sends the expired token again", .loopAfterExpiry,
            Requests.pull("1", nil, changes: 0, error: Requests.expired),
            Requests.pull(nil, "5"), Requests.pull("1", nil, changes: 0, error: Requests.expired)),
        Story(
            "retries what failed otherwise", nil,
            Requests.pull("1", nil, changes: 0, error: ServedRequest.ItemError(RecordError(.tryAgainLater, "busy"))),
            Requests.pull("1", "2")),
        Story(
            "takes a token of another zone", .tokenOfAnotherZone, Requests.pull(nil, "y", zone: ZoneID(zoneName: "Y")),
            Requests.pull("y", nil, changes: 0, error: Requests.unknown)),
        Story(
            "takes the database's token for a zone's", .tokenOfAnotherZone, Requests.pull(nil, "database", zone: nil),
            Requests.pull("database", nil, changes: 0, error: Requests.unknown)),
        Story(
            "sends what nobody gave it", nil, Requests.pull(nil, "1"),
            Requests.pull("garbage", nil, changes: 0, error: Requests.unknown)),
    ]

    @Test("Mistakes show at the pull that makes them", arguments: stories)
    func warning(story: Story) {
        let found = warnings(story.pulls)
        #expect(found.last == (story.warning.map { [$0] } ?? []))
        #expect(found.dropLast().allSatisfy { $0.isEmpty })
    }

    @Test("A tool that plays a zone back from the beginning each time does not start over")
    func playback() {
        var book = ClientBook()
        for (operation, warnings) in [
            ("skylight/changes/playback", []), ("skylight/changes/playback", []),
            ("changes/zone", [.restartedFromNothing]),
        ]
            as [(String, [RequestWarning])]
        {
            #expect(
                book.note(Requests.request("0", operation: operation) { $0.pulls = [Requests.pull(nil, "1")] })
                    == warnings)
        }
    }

    @Test("A token of another user, or of another database, is told from one of another zone")
    func tokenOfAnotherUser() {
        for (user, scope) in [("_ben", DatabaseScope.private), ("_anna", .shared)] as [(Name, DatabaseScope)] {
            var book = ClientBook()
            _ = book.note(Requests.request("0", operation: "changes/zone") { $0.pulls = [Requests.pull(nil, "1")] })
            let warnings = book.note(
                Requests.request("1", operation: "changes/zone", user: user) { request in
                    request.scope = scope
                    request.pulls = [Requests.pull("1", nil, changes: 0, error: Requests.unknown)]
                })
            #expect(warnings == [.tokenOfAnotherUser])
        }
    }

    @Test(
        "The same query by modification time is polling from the third on; pages of one query are one, and a pause ends it"
    )
    func polling() {
        var book = ClientBook()
        func query(_ seconds: Int64, isContinuation: Bool = false) -> [RequestWarning] {
            book.note(
                Requests.request("\(seconds)", at: seconds) { request in
                    request.asksByModificationTime = true
                    request.isContinuation = isContinuation
                })
        }
        #expect(
            [query(0), query(1, isContinuation: true), query(2, isContinuation: true), query(10)].allSatisfy {
                $0.isEmpty
            })
        #expect(query(20) == [.pollingByClock] && query(30) == [.pollingByClock])
        #expect(query(4000).isEmpty)
        #expect(book.clients.first?.warnings[.pollingByClock]?.count == 2)
    }

    @Test("Queries for several types, or in several zones, are not polling")
    func differentQueries() {
        var book = ClientBook()
        func query(_ type: Name, in zone: ZoneID = Requests.zone, at seconds: Int64) -> [RequestWarning] {
            book.note(
                Requests.request("\(type)\(seconds)", at: seconds) { request in
                    request.asksByModificationTime = true
                    request.recordType = type
                    request.zoneIDs = [zone]
                })
        }
        for (number, type) in (["A", "B", "C"] as [Name]).enumerated() {
            #expect(query(type, at: Int64(number)).isEmpty)
        }
        #expect(query("A", in: ZoneID(zoneName: "Y"), at: 5).isEmpty)
        #expect(query("A", at: 10).isEmpty && query("A", at: 20) == [.pollingByClock])
        // The queries that were not asked for the longest time are forgotten.
        for number in 0..<20 { #expect(query(Name("T\(number)"), at: 30).isEmpty) }
        #expect(query("A", at: 40).isEmpty)
    }

    /// The warnings about the last of some requests.
    private func last(_ changes: [(seconds: Int64, change: (inout ServedRequest) -> Void)]) -> [RequestWarning] {
        var book = ClientBook()
        return changes.enumerated().map { number, step in
            book.note(Requests.request(String(number), at: step.seconds, step.change))
        }.last ?? []
    }

    @Test("A query that begins again although a page was left is named, one that goes on or wants no more is not")
    func pages() {
        func query(_ hash: Int?, goesOn: Bool = false, hasMore: Bool = true) -> (Int64, (inout ServedRequest) -> Void) {
            (0, { ($0.query, $0.isContinuation, $0.hasNextPage) = (hash, goesOn, hasMore) })
        }
        #expect(last([query(1), query(1)]) == [.continuationNotFollowed])
        #expect(last([query(1), query(2), query(1)]) == [.continuationNotFollowed])
        #expect(last([query(1), query(1, goesOn: true), query(1)]).isEmpty)
        #expect(last([query(1), query(1, goesOn: true)]).isEmpty)
        #expect(
            last([query(1, hasMore: false), query(1)]).isEmpty && last([query(nil), query(nil)]).isEmpty
                && last([query(1), query(2)]).isEmpty)
        // Only the last queries are remembered.
        #expect(last([query(1)] + (10..<30).map { query($0) } + [query(1)]).isEmpty)
    }

    @Test("A save that was refused and comes again is named, by its tag for a conflict, else by its reason")
    func refusals() {
        func save(_ error: RecordError, _ name: Name = "a", tag: String? = "1") -> (
            Int64, (inout ServedRequest) -> Void
        ) {
            (
                0,
                {
                    $0.refusals = [
                        ServedRequest.Refusal(error, recordName: name, zoneID: Requests.zone, recordChangeTag: tag)
                    ].compactMap(\.self)
                }
            )
        }
        let conflict = RecordError(.conflict, "client oplock error updating record")
        #expect(last([save(conflict), save(conflict)]) == [.staleTagAgain])
        #expect(
            last([save(conflict), save(conflict, tag: "2")]).isEmpty
                && last([save(conflict), save(conflict, "b")]).isEmpty)
        #expect(last([save(conflict, tag: nil), save(conflict, tag: nil)]).isEmpty)
        let undeployed = RecordError(.notFound, "Cannot create new type Note in production schema")
        #expect(last([save(undeployed), save(undeployed, tag: "2")]) == [.refusedAgain])
        #expect(last([save(undeployed), save(RecordError(.badRequest, "another"))]).isEmpty)
        #expect(last([save(RecordError(.tryAgainLater, "busy")), save(RecordError(.tryAgainLater, "busy"))]).isEmpty)
    }

    @Test("Ten lookups of one record each within ten seconds are a loop")
    func lookups() {
        func lookup(_ seconds: Int64) -> (Int64, (inout ServedRequest) -> Void) {
            (seconds, { $0.isSingleLookup = true })
        }
        #expect(last((0..<10).map { lookup($0) }) == [.lookupsOneByOne])
        #expect(last((0..<9).map { lookup($0) }).isEmpty && last((0..<30).map { lookup($0 * 5) }).isEmpty)
    }

    @Test("A request before the time of retryAfter is over is named, one that was under way is not")
    func waiting() {
        let throttled: (Int64, (inout ServedRequest) -> Void) = (10, { ($0.retryAfter, $0.milliseconds) = (30, 5000) })
        func request(_ seconds: Int64) -> (Int64, (inout ServedRequest) -> Void) { (seconds, { _ in }) }
        #expect(last([throttled, request(20)]) == [.ignoredRetryAfter])
        #expect(
            last([throttled, request(45)]).isEmpty && last([throttled, request(12)]).isEmpty
                && last([(0, { $0.retryAfter = .max }), request(5)]) == [.ignoredRetryAfter])
    }

    @Test("What a request shows by itself is counted like other warnings")
    func mistakes() {
        #expect(
            last([(0, { $0.mistakes = [.timestampInSeconds: "due", .unknownDesiredKeys: "titel"] })]) == [
                .unknownDesiredKeys, .timestampInSeconds,
            ])
    }

    @Test("Each warning has a title of its own, a remedy and a reference")
    func words() {
        #expect(Set(RequestWarning.allCases.map(\.title)).count == RequestWarning.allCases.count)
        #expect(
            RequestWarning.allCases.allSatisfy {
                $0.sentence.hasSuffix(".") && $0.reference.hasPrefix("https://developer.apple.com/")
            })
    }

    @Test("A stream that ends late neither accuses nor sets back who pulled meanwhile")
    func streams() throws {
        var book = ClientBook()
        func note(_ id: String, at seconds: Int64, _ pull: ServedRequest.Pull, lasting length: Int64? = nil)
            -> [RequestWarning]
        {
            book.note(
                Requests.request(id, at: seconds) { request in
                    request.pulls = [pull]
                    request.isStream = length != nil
                    request.milliseconds = Double(length ?? 0) * 1000
                })
        }
        #expect(note("first", at: 0, Requests.pull(nil, "1")).isEmpty)
        #expect(note("second", at: 600, Requests.pull("1", "2")).isEmpty)
        // It followed the zone from token 1 for an hour, and was sent token 3.
        #expect(note("follow", at: 1, Requests.pull("1", "3"), lasting: 3600).isEmpty)
        var client = try #require(book.clients.first)
        #expect(client.lastSeen.milliseconds - client.firstSeen.milliseconds == 3_601_000)
        #expect(
            client.feed(of: Requests.zone)?.lastPulled == client.lastSeen
                && client.feed(of: Requests.zone)?.lastGiven == Requests.token("3"))
        #expect(note("third", at: 3700, Requests.pull("2", "4")).isEmpty)
        // A stream that began earlier and received nothing.
        #expect(note("idle", at: 2, Requests.pull("1", "1", changes: 0), lasting: 10).isEmpty)
        client = try #require(book.clients.first)
        let feed = try #require(client.feed(of: Requests.zone))
        #expect(
            client.lastSeen.milliseconds - client.firstSeen.milliseconds == 3_700_000
                && feed.lastPulled == client.lastSeen)
        #expect(
            feed.lastGiven == Requests.token("4") && feed.coverage?.through == Requests.token("4")
                && feed.pullCount == 5)
        #expect(feed.warnings.isEmpty && client.warnings.isEmpty)
    }

    @Test("A syncToken sent to zones/changes is called ignored")
    func ignoredToken() {
        var book = ClientBook()
        #expect(
            book.note(Requests.request("0", operation: "zones/changes") { $0.ignoredSyncToken = true }) == [
                .ignoredSyncToken
            ])
    }

    @Test("A feed says what was sent and given last, and what the last pulls brought")
    func feed() throws {
        var book = ClientBook()
        let pulls = [
            Requests.pull(nil, "1", more: true, changes: 200), Requests.pull("1", "2", changes: 3),
            Requests.pull("2", nil, changes: 0, error: Requests.expired),
        ]
        for (number, pull) in pulls.enumerated() {
            _ = book.note(
                Requests.request(String(number), at: Int64(number)) { request in
                    request.pulls = [pull]
                    if let error = pull.error { request.itemErrors = [error] }
                })
        }
        _ = book.note(Requests.request("list", at: 9, operation: "zones/list"))
        let client = try #require(
            book.clients.first {
                $0.id == KnownClient.ID(client: "app", userRecordName: "_anna", address: Requests.address)
            })
        #expect(client.requestCount == 4 && client.failureCount == 1 && client.lastFailure?.requestID == "2")
        #expect(client.lastSeen.milliseconds - client.firstSeen.milliseconds == 9000)
        let feed = try #require(client.feed(of: Requests.zone))
        #expect(feed.pullCount == 3 && feed.changes == 203 && !feed.moreComing)
        #expect(
            feed.lastSent == Requests.token("2") && feed.lastGiven == Requests.token("2")
                && feed.error == Requests.expired)
        #expect(feed.deliveries.map(\.requestID) == ["0", "1", "2"])
        #expect(client.feed(of: ZoneID(zoneName: "never pulled")) == nil && client.feed(of: nil) == nil)
        #expect(book.clients.count == 1)
    }

    @Test("The covered range grows while pulls are contiguous")
    func coverage() throws {
        var book = ClientBook()
        func pull(_ pull: ServedRequest.Pull, at seconds: Int64) -> ClientFeed.Coverage? {
            _ = book.note(Requests.request("r\(seconds)", at: seconds) { $0.pulls = [pull] })
            return book.clients.first?.feed(of: Requests.zone)?.coverage
        }
        _ = pull(Requests.pull(nil, "1", more: true), at: 0)
        let whole = try #require(pull(Requests.pull("1", "2"), at: 1))
        #expect(whole.from == nil && whole.through == Requests.token("2"))
        // A pull from an earlier token only repeats changes.
        #expect(pull(Requests.pull("1", "3"), at: 2)?.from == nil)
        #expect(pull(Requests.pull("3", "4"), at: 3)?.through == Requests.token("4"))
        // The changes in between are unknown.
        #expect(pull(Requests.pull("8", "9"), at: 4)?.from == Requests.token("8"))
        // A pull of other types is covered separately.
        let some = try #require(pull(Requests.pull("9", "10", types: ["Note"]), at: 5))
        #expect(some.from == Requests.token("9") && some.recordTypes == ["Note"])
    }

    @Test("One's own zone is the same with and without its owner; another's is not")
    func owners() {
        var book = ClientBook()
        let owners: [Name?] = [nil, "_defaultOwner", "__defaultOwner__", "_anna", "_ben"]
        for (number, owner) in owners.enumerated() {
            _ = book.note(
                Requests.request(String(number)) {
                    $0.pulls = [Requests.pull(nil, "1", zone: ZoneID(zoneName: "Z", ownerRecordName: owner))]
                })
        }
        #expect(book.clients.first?.feeds.map(\.pullCount) == [4, 1])
        #expect(book.clients.first?.feed(of: ZoneID(zoneName: "Z", ownerRecordName: "_anna"))?.pullCount == 4)
    }

    @Test("It is bounded: clients, feeds and pulls")
    func bounds() throws {
        var book = ClientBook()
        for number in 0..<(ClientBook.clientLimit + 50) {
            _ = book.note(Requests.request("\(number)", at: Int64(number), client: "client \(number)"))
        }
        #expect(book.clients.count == ClientBook.clientLimit)
        #expect(book.clients.first?.identity.name == "client \(ClientBook.clientLimit + 49)")
        for number in 0..<2000 {
            _ = book.note(
                Requests.request("\(number)", at: 1000 + Int64(number), client: "client of many zones") { request in
                    request.pulls = [Requests.pull(nil, "1", zone: ZoneID(zoneName: Name("zone \(number)")))]
                })
        }
        let busy = try #require(book.clients.first)
        #expect(busy.feeds.count == ClientBook.feedLimit / 4 && busy.feed(of: ZoneID(zoneName: "zone 1999")) != nil)
        #expect(busy.feed(of: ZoneID(zoneName: "zone 0")) == nil)
        for number in 0..<100 {
            _ = book.note(
                Requests.request("p\(number)", at: 4000) { $0.pulls = [Requests.pull("\(number)", "\(number + 1)")] })
        }
        let feed = try #require(book.clients.first { $0.identity.name == "app" }?.feed(of: Requests.zone))
        #expect(
            feed.deliveries.count == ClientFeed.deliveryLimit && feed.deliveries.last?.requestID == "p99"
                && feed.pullCount == 100)
        // Coverage includes pulls that are no longer kept.
        #expect(feed.coverage?.from == Requests.token("0"))
    }

    @Test("It is bounded in bytes, whatever pulls ask for; lists that stay the same count once")
    func bytes() throws {
        func pull(_ list: Set<Name>, _ number: Int, zone: Int) -> ServedRequest.Pull {
            var pull = Requests.pull("\(number)", "\(number + 1)", zone: ZoneID(zoneName: Name("\(zone)")))
            pull.keys = list
            return pull
        }
        // About 100 KB each, and all different.
        var book = ClientBook()
        let long = String(repeating: "x", count: 1000)
        for number in 0..<400 {
            let keys = Set((0..<100).map { Name("\(number) \($0) \(long)") })
            _ = book.note(
                Requests.request("\(number)", at: Int64(number), client: "client \(number % 5)") {
                    $0.pulls = [pull(keys, number, zone: number % 40)]
                })
            #expect(book.size <= ClientBook.bytesLimit)
        }
        let kept = book.clients.flatMap(\.feeds).flatMap(\.deliveries)
        #expect(kept.reduce(0) { $0 + ($1.pull.keys?.count ?? 0) } * 1000 < ClientBook.bytesLimit, "\(kept.count)")
        #expect(book.clients.count == 5 && kept.contains { $0.requestID == "399" })
        // The limit holds for a single client too.
        var single = ClientBook()
        for number in 0..<300 {
            let keys = Set((0..<100).map { Name("\(number) \($0) \(long)") })
            _ = single.note(
                Requests.request("\(number)", at: Int64(number)) { $0.pulls = [pull(keys, number, zone: number)] })
            #expect(single.size <= ClientBook.bytesLimit)
        }
        #expect(
            single.clients.first?.feed(of: ZoneID(zoneName: "299")) != nil
                && single.clients.first?.feed(of: ZoneID(zoneName: "0")) == nil)
        // A regular client with many fields and zones keeps all its pulls.
        var honest = ClientBook()
        let fields = Set((0..<40).map { Name("a field of the app number \($0)") })
        for number in 0..<ClientFeed.deliveryLimit {
            _ = honest.note(
                Requests.request("\(number)", at: Int64(number)) {
                    $0.pulls = (0..<200).map { pull(fields, number, zone: $0) }
                })
        }
        #expect(try #require(honest.clients.first).feeds.allSatisfy { $0.deliveries.count == ClientFeed.deliveryLimit })
        #expect(honest.size < ClientBook.bytesLimit / 2, "\(honest.size)")
    }

    @Test("Many refused tokens at once are looked up in one pass")
    func manyStrays() throws {
        var book = ClientBook()
        func zone(_ number: Int) -> ZoneID { ZoneID(zoneName: Name("zone \(number)")) }
        for round in 0..<ClientFeed.deliveryLimit {
            for client in 0..<4 {
                _ = book.note(
                    Requests.request("\(round) \(client)", at: Int64(round), client: "client \(client)") { request in
                        request.pulls = (0..<240).map {
                            Requests.pull("\(client) \($0) \(round)", "\(client) \($0) \(round + 1)", zone: zone($0))
                        }
                    })
            }
        }
        func time(_ count: Int) -> Duration {
            let request = Requests.request("mixed up", at: 100, client: "client 0") { request in
                request.pulls = (0..<count).map {
                    Requests.pull("0 \(($0 + 1) % 240) 32", nil, changes: 0, zone: zone($0), error: Requests.unknown)
                }
            }
            var changed = book
            let start = processorTime()
            #expect(changed.note(request) == [.tokenOfAnotherZone])
            return processorTime() - start
        }
        let (one, many) = (time(1), time(200))
        // A pass for each token would take 200 times as long. A single time may be an outlier.
        let limit = one * 40
        #expect(many < limit || time(200) < limit, "\(one) and \(many)")
    }

    @Test(
        "A client is known by its id, else by its name, else by its user agent",
        arguments: [
            (ClientIdentity(name: "Notes", deviceID: nil, userAgent: "curl/8"), "Notes", "Notes"),
            (ClientIdentity(name: "Notes", deviceID: "iPad", userAgent: nil), "iPad", "Notes on iPad"),
            (ClientIdentity(name: "iPad", deviceID: "iPad", userAgent: nil), "iPad", "iPad"),
            (
                ClientIdentity(name: ClientIdentity.replayName, deviceID: "iPad", userAgent: nil), "Skylight replay",
                "Skylight replay on iPad"
            ),
            (ClientIdentity(name: nil, deviceID: "iPad", userAgent: nil), "iPad", "iPad"),
            (ClientIdentity(name: nil, deviceID: nil, userAgent: "curl/8.5.0"), "curl/8.5.0", "curl/8.5.0"),
            (
                ClientIdentity(name: nil, deviceID: nil, userAgent: "Notes/2.1 Skylight/1.0.0"),
                "Notes/2.1 Skylight/1.0.0", "Notes/2.1"
            ),
            (ClientIdentity(name: nil, deviceID: nil, userAgent: "Skylight/1.0.0"), "Skylight/1.0.0", "Skylight/1.0.0"),
            (ClientIdentity(name: nil, deviceID: nil, userAgent: nil), "unnamed", "unnamed"),
            (
                ClientIdentity(
                    name: nil, deviceID: nil,
                    userAgent:
                        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
                ),
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
                "Chrome/142.0.0.0"
            ),
            (
                ClientIdentity(
                    name: nil, deviceID: "0e9e3bd2-6b0c-4d3c-a3c5-1d2f5a0f6c11", userAgent: "python-requests/2.32.3"),
                "0e9e3bd2-6b0c-4d3c-a3c5-1d2f5a0f6c11", "python-requests/2.32.3 0e9e3bd2"
            ),
        ])
    func identities(identity: ClientIdentity, id: String, label: String) {
        #expect(identity.id == id && identity.label == label)
    }
}
