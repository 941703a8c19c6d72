import Records
import RequestLog
import Synchronization
import Testing

/// The log is bounded. A client that reads it page by page misses nothing and gets nothing twice.
@Suite("Request log") struct RequestLogTests {
    @Test("The oldest request goes first")
    func ring() {
        let log = RequestLog()
        for number in 0...RequestLog.standardCapacity { log.note(Requests.request(String(number), at: Int64(number))) }
        #expect(log.request("0") == nil && log.request("1") != nil)
        #expect(
            log.latest(2).map(\.id) == [String(RequestLog.standardCapacity), String(RequestLog.standardCapacity - 1)])
        #expect(log.latest(.max).count == RequestLog.standardCapacity)
        #expect(log.cursor(of: "1") == 1 && log.cursor == Int64(RequestLog.standardCapacity))
    }

    @Test("A log of many requests has room for them")
    func many() {
        let log = RequestLog(capacity: 30_000)
        for number in 0..<30_000 {
            log.note(
                Requests.request("00000000-0000-0000-0000-\(number)", operation: "changes/zone") {
                    $0.pulls = [Requests.pull("1", "2")]
                })
        }
        #expect(log.request("00000000-0000-0000-0000-0") != nil && log.latest(.max).count == 30_000)
    }

    @Test("Requests are known by their ids in letters of either case; logs have different names")
    func names() {
        let log = RequestLog()
        log.note(Requests.request("0e9e3bd2"))
        #expect(log.request("0E9E3BD2") != nil && log.cursor(of: "0E9e3bd2") == 0 && log.bodies(of: "0E9E3BD2") == nil)
        #expect(log.run != RequestLog().run && log.run.utf8.count == 16)
    }

    @Test("Requests that say the same are kept as they are, and what only looks the same too")
    func spellings() {
        let log = RequestLog()
        let spellings = ["caf\u{E9}", "cafe\u{301}", "caf\u{E9}", "other", "cafe\u{301}"]
        for (number, spelling) in spellings.enumerated() {
            log.note(
                Requests.request(String(number)) { request in
                    request.target = "/same"
                    request.client = ClientIdentity(name: spelling, deviceID: nil, userAgent: spelling)
                    request.userRecordName = Name(spelling)
                    request.zoneIDs = [ZoneID(zoneName: Name(spelling))]
                    request.recordType = Name(spelling)
                })
        }
        for (request, spelling) in zip(log.latest(.max).reversed(), spellings) {
            let said = [
                request.client.name, request.client.userAgent, request.userRecordName?.string,
                request.zoneIDs.first?.zoneName.string, request.recordType?.string,
            ]
            #expect(
                said.map { $0.map { Name($0) } } == Array(repeating: Name(spelling), count: 5)
                    && request.target == "/same")
        }
    }

    @Test("A plan is put into words when it is read, not when its request is noted")
    func plans() {
        final class Count: Sendable {
            let made = Atomic(0)
            func words() -> String {
                made.add(1, ordering: .relaxed)
                return "The names were walked."
            }
        }
        let count = Count()
        let log = RequestLog()
        log.note(
            Requests.request("a") { $0.plan = ServedRequest.Plan(index: "rank SORTABLE", sentence: count.words()) })
        #expect(log.latest(1).count == 1 && count.made.load(ordering: .relaxed) == 0)
        #expect(
            log.request("a")?.plan?.sentence == "The names were walked." && count.made.load(ordering: .relaxed) == 1)
    }

    @Test("A log of no requests keeps none")
    func off() {
        let log = RequestLog(capacity: 0)
        log.note(Requests.request("a"))
        #expect(!log.isOn && log.latest(1).isEmpty && log.cursor == -1 && log.clients.clients.isEmpty)
        #expect(log.telemetry.operations.isEmpty)
    }

    @Test(
        "Pages into the past join on to each other, with and without a filter", arguments: [1, 7, 255, 256, 257, 1000])
    func pages(size: Int) {
        let log = RequestLog(capacity: 600)
        for number in 0..<900 {
            log.note(
                Requests.request(
                    String(number), operation: number.isMultiple(of: 3) ? "records/modify" : "records/query"))
        }
        for wanted in ["records/modify", nil] {
            var filter = RequestFilter()
            filter.operation = wanted
            var ids: [String] = []
            var last: String?
            while true {
                let page = log.latest(size, before: last, where: filter.matches)
                ids += page.map(\.id)
                guard page.count == size, let id = page.last?.id else { break }
                last = id
            }
            let expected = (300..<900).reversed().filter { wanted == nil || $0.isMultiple(of: 3) }
            #expect(ids == expected.map { String($0) })
        }
        #expect(log.latest(5, before: "299").isEmpty, "what is kept no more is before nothing")
    }

    // MARK: Bounds

    @Test("Bodies are cut, and the oldest go when they are too many; their requests stay")
    func bodies() throws {
        let log = RequestLog()
        let body = RequestBodies.Body([UInt8](repeating: 7, count: 100_000))
        #expect(body.isCut && body.bytes.count == RequestBodies.limit && body.total == 100_000)
        let count = 2 * RequestLog.bodiesLimit / (2 * RequestBodies.limit)
        for number in 0..<count {
            log.note(Requests.request(String(number)), bodies: RequestBodies(request: body, response: body))
        }
        let kept = (0..<count).filter { log.bodies(of: String($0)) != nil }
        #expect(kept.count == RequestLog.bodiesLimit / (2 * RequestBodies.limit))
        #expect(kept.last == count - 1 && kept == Array((count - kept.count)..<count))
        #expect(log.request("0") != nil)
        let small = RequestBodies.Body([1, 2, 3])
        #expect(!small.isCut && small.bytes == [1, 2, 3])
        // Spare capacity of the original array is not kept.
        var roomy: [UInt8] = []
        roomy.reserveCapacity(4096)
        roomy += [1, 2, 3]
        let tight = RequestBodies.Body(roomy)
        #expect(tight.bytes == [1, 2, 3] && tight.bytes.capacity < 1000)
    }

    @Test("Requests that say very much of themselves are cut, and never too many")
    func sizes() throws {
        let log = RequestLog()
        let long = String(repeating: "é", count: 3000)
        let keys = Set((0..<100).map { Name("\($0)\(long)") })
        let errors = (0..<200).map {
            ServedRequest.ItemError(name: Name("\($0)\(long)"), code: .badRequest, reason: long)
        }
        for number in 0..<100 {
            log.note(
                Requests.request(String(number)) { request in
                    request.client = ClientIdentity(name: long, deviceID: long, userAgent: long)
                    request.zoneIDs = (0..<200).map { ZoneID(zoneName: Name("\($0)\(long)")) }
                    request.itemErrors = errors
                    request.pulls = (0..<20).map { _ in
                        ServedRequest.Pull(
                            zoneID: ZoneID(zoneName: Name(long)),
                            sent: ChangeToken(bytes: [UInt8](repeating: 1, count: 100_000)), given: nil,
                            moreComing: false, changes: 0, keys: keys)
                    }
                })
        }
        let kept = log.latest(.max)
        #expect(kept.count >= 20 && kept.count < 100, "\(kept.count)")
        let request = try #require(kept.first)
        #expect(request.id == "99" && request.client.name?.utf8.count ?? 0 < 300)
        #expect(request.itemErrors.first?.reason.utf8.count ?? 0 < 1100)
        #expect(request.pulls.allSatisfy { $0.sent?.bytes.count ?? 0 <= 512 })
        #expect(log.request("0") == nil)
    }

    // MARK: Following

    @Test("Followers get every request once and in order, however slow they are and however many note at once")
    func following() async {
        let log = RequestLog(capacity: 20_000)
        let (writers, each) = (4, 2500)
        let seen = await withTaskGroup(of: [String]?.self) { group in
            for follower in 0..<3 {
                let signals = log.signals()
                group.addTask {
                    var ids: [String] = []
                    var cursor: Int64 = -1
                    for await _ in signals {
                        while true {
                            let page = log.page(after: cursor, limit: 50 + follower)
                            if page.requests.isEmpty { break }
                            #expect(page.missed == 0)
                            ids += page.requests.map(\.id)
                            cursor = page.cursor
                            if follower == 2 { await Task.yield() }
                        }
                        if ids.count == writers * each { break }
                    }
                    return ids
                }
            }
            for writer in 0..<writers {
                group.addTask {
                    for number in 0..<each { log.note(Requests.request("\(writer)-\(number)")) }
                    return nil
                }
            }
            return await group.reduce(into: []) { seen, ids in ids.map { seen.append($0) } }
        }
        let order = log.latest(.max).reversed().map(\.id)
        #expect(order.count == writers * each && Set(order).count == order.count)
        #expect(seen.count == 3 && seen.allSatisfy { $0 == order })
    }

    @Test("A reader that is too far behind gets the number of missed requests")
    func missed() {
        let log = RequestLog(capacity: 10)
        for number in 0..<25 { log.note(Requests.request(String(number))) }
        let page = log.page(after: 4, limit: 3)
        #expect(page.missed == 10 && page.requests.map(\.id) == ["15", "16", "17"] && page.cursor == 17)
        let next = log.page(after: page.cursor, limit: 100)
        #expect(next.missed == 0 && next.requests.count == 7 && next.cursor == 24)
        let end = log.page(after: next.cursor, limit: 100)
        #expect(end.requests.isEmpty && end.missed == 0 && end.cursor == 24)
    }

    @Test("Signs wait for whoever takes them later, and one stands for many")
    func signals() async {
        let log = RequestLog()
        var iterator = log.signals().makeAsyncIterator()
        for number in 0..<100 { log.note(Requests.request(String(number))) }
        #expect(await iterator.next() != nil)
        #expect(log.page(after: -1, limit: 1000).requests.count == 100)
        log.note(Requests.request("after"))
        #expect(await iterator.next() != nil)
        #expect(log.page(after: 99, limit: 1000).requests.map(\.id) == ["after"])
    }

    @Test("Failed requests count from a time on, as a whole or in items")
    func recentErrors() {
        let log = RequestLog()
        let start = Requests.request("").started.milliseconds
        for (seconds, status, items) in [(0, 500, 0), (60, 200, 0), (120, 404, 0), (125, 200, 2)] {
            log.note(
                Requests.request("\(seconds)", at: Int64(seconds)) { request in
                    request.status = status
                    request.itemErrors = Array(repeating: Requests.unknown, count: items)
                })
        }
        // Another container's errors are not this one's.
        log.note(
            Requests.request("elsewhere", at: 125) { request in
                request.status = 500
                request.environment = .production
            })
        // The command line may ask for a zone to learn whether it exists.
        log.note(Requests.request("command", at: 125, client: ClientIdentity.commandLineName) { $0.status = 404 })
        for (seconds, count) in [(Int64(-3600), 3), (60, 2), (200, 0)] {
            #expect(
                log.errors(in: Requests.container, .development, since: Timestamp(milliseconds: start + seconds * 1000))
                    == count, "\(seconds)")
        }
    }

    @Test("What is recent begins an hour ago, or with the minute of the oldest request that is kept")
    func recentStart() {
        let log = RequestLog(capacity: 2)
        let start = Requests.request("").started.milliseconds
        let now = Timestamp(milliseconds: start + 7_200_000)
        func since() -> Int64 { log.startOfRecent(at: now).milliseconds }
        let hour = since()
        #expect((0..<60_000).contains(hour - start - 3_600_000) && hour % 60_000 == 0)
        for seconds in [0, 5400, 5460] { log.note(Requests.request("\(seconds)", at: Int64(seconds))) }
        #expect((0..<60_000).contains(start + 5_400_000 - since()))
    }
}
