import InMemoryRecordStore
import RecordStore
import Records
import RequestLog
import Synchronization
import TestSupport
import Testing

@testable import HTTPServing

/// Large answers to stalled clients and to many clients, and streams.
@Suite("Memory for answers", .timeLimit(.minutes(5)))
struct MemoryTests {
    private static let count = 12
    private static let limit = 48 << 20
    private static let lookup: [UInt8] = request(names: (0..<count).map { "large\($0)" })

    private static func request(names: [String]) -> [UInt8] {
        let body = "{\"records\":[\(names.map { "{\"recordName\":\"\($0)\"}" }.joined(separator: ","))]}"
        return Array(NotedClient.head("POST", "\(NotedClient.root)/records/lookup", [], length: body.utf8.count).utf8)
            + Array(body.utf8)
    }

    private static func run(_ body: @Sendable (TestServer, MemoryBudget) async throws -> Void)
        async throws
    {
        let budget = MemoryBudget(limit: limit)
        try await TestServer.run(memory: budget) { server in
            let client = NotedClient(server: server)
            let text = String(repeating: "x", count: 900_000)
            func save(_ name: String, _ text: String) async throws {
                let record = #"{"recordType":"N","recordName":"\#(name)","fields":{"x":{"value":"\#(text)"}}}"#
                #expect(
                    try await client.post(
                        "records/modify", #"{"operations":[{"operationType":"create","record":\#(record)}]}"#
                    ).status == 200)
            }
            for number in 0..<count { try await save("large\(number)", text) }
            try await save("small", "x")
            try await isGivenBack(budget)
            try await body(server, budget)
        }
    }

    /// Waits until all memory is released.
    private static func isGivenBack(_ budget: MemoryBudget) async throws {
        try await eventually { budget.takenBytes == 0 }
    }

    @Test(
        "Answers that nobody reads take so much and no more, and small ones find room beside them")
    func unread() async throws {
        try await Self.run { server, budget in
            let answerSize = try #require(try await server.client.exchange(Self.lookup).first).body.count
            try await Self.isGivenBack(budget)
            func isTaken(_ count: Int) async throws { try await eventually { budget.takenBytes == count * answerSize } }
            // Three answers are held. A fourth one finds no room, because it takes twice its size while it is made.
            try await server.client.withoutReading(Self.lookup, times: 3, isTaken) {
                let refused = try #require(try await server.client.exchange(Self.lookup).first)
                #expect(refused.status == 503 && refused.headers["retry-after"] != nil)
                #expect(
                    Subset.differences(
                        [
                            "serverErrorCode": "TRY_AGAIN_LATER", "retryAfter": "<any>",
                            "reason": "<has --transfer-memory>",
                        ], try refused.json()
                    ).isEmpty)
                #expect(budget.takenBytes == 3 * answerSize)
                #expect(try await server.client.exchange(Self.request(names: ["small"])).map(\.status) == [200])
            }
            // A client that disconnects releases its memory, and the next one is answered.
            try await Self.isGivenBack(budget)
            let answer = try #require(try await server.client.exchange(Self.lookup).first)
            #expect(answer.status == 200 && answer.body.count == answerSize)
            try await Self.isGivenBack(budget)
        }
    }

    private final class Answers: Sendable {
        let count = Atomic(0)
        /// The clients that were refused.
        let refused = Mutex<Set<Int>>([])
    }

    @Test("Many large responses at once all succeed in the end")
    func queued() async throws {
        try await Self.run { server, budget in
            budget.count(Self.limit)
            let answers = Answers()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for client in 0..<8 {
                    group.addTask {
                        var status: Int?
                        // The waiting time depends on the load of the machine.
                        repeat {
                            status = try await server.client.exchange(Self.lookup).first?.status
                            if status == 503 { answers.refused.withLock { _ = $0.insert(client) } }
                        } while status == 503
                        #expect(status == 200)
                        answers.count.add(1, ordering: .relaxed)
                    }
                }
                // Each has waited for room in vain, and asks again.
                try await eventually { answers.refused.withLock { $0.count } == 8 }
                #expect(answers.count.load(ordering: .relaxed) == 0, "there was no room")
                budget.giveBack(Self.limit)
                try await group.waitForAll()
            }
            try await Self.isGivenBack(budget)
        }
    }

    /// Saves a record that fills much of the memory.
    private static func saveLarge(_ client: NotedClient) async throws {
        let text = String(repeating: "x", count: 100_000)
        let record = #"{"recordType":"N","recordName":"large","fields":{"t":{"value":"\#(text)"}}}"#
        let operations = #"[{"operationType":"create","record":\#(record)}]"#
        let saved = try await client.post(
            "records/modify", #"{"zoneID":{"zoneName":"Z"},"operations":\#(operations)}"#)
        #expect(saved.status == 200 && saved.text.contains("recordChangeTag"), "\(saved.text.prefix(300))")
    }

    @Test("A response that is retried for lack of memory is recorded once")
    func notedOnce() async throws {
        let budget = MemoryBudget(limit: Self.limit)
        let reads = Mutex(0)
        let engine = ReadEngine(base: InMemoryRecordEngine()) { reads.withLock { $0 += 1 } }
        try await TestServer.run(on: engine, memory: budget) { server in
            let client = NotedClient(server: server)
            try await client.post(
                "zones/modify", #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#)
            try await Self.saveLarge(client)
            try await Self.isGivenBack(budget)
            let zone = #"{"zoneID":{"zoneName":"Z"}}"#
            var noted: ServedRequest
            // A busy machine may give the room back too late, and a quick one before it is looked for.
            repeat {
                budget.count(Self.limit)
                reads.withLock { $0 = 0 }
                async let answer = client.post("\(NotedClient.skylight)/changes/page", zone)
                try await eventually { reads.withLock { $0 } == 1 }
                budget.giveBack(Self.limit)
                noted = try client.noted(try await answer)
            } while noted.status == 503 || reads.withLock { $0 } == 1
            #expect(noted.status == 200 && reads.withLock { $0 } == 2)
            #expect(noted.pulls.map(\.changes) == [1])
            #expect(noted.records == 1)
            // A request that finds no room must not be logged as a pull.
            budget.count(Self.limit)
            let refused = try await client.post("\(NotedClient.skylight)/changes/page", zone)
            budget.giveBack(Self.limit)
            #expect(refused.status == 503)
            #expect(try client.noted(refused).pulls.isEmpty)
        }
        await engine.close()
    }

    @Test("Followers of an idle zone leave memory for other requests")
    func followers() async throws {
        let budget = MemoryBudget(limit: MemoryBudget.leastLimit)
        try await TestServer.run(memory: budget) { server in
            let client = NotedClient(server: server)
            try await client.save(["a"])
            let follow = NotedClient.head("GET", "\(NotedClient.skylight)/changes/follow?zone=Z", [], length: 0)
            try await server.client.withBeginnings(of: follow, times: 40, until: "event: changes") {
                try await Self.isGivenBack(budget)
                try await Self.saveLarge(client)
            }
            try await Self.isGivenBack(budget)
        }
    }
}

/// Tells of each page of changes that is read.
private struct ReadEngine: ForwardingEngine {
    let base: any RecordEngine
    let read: @Sendable () -> Void

    func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase {
        ReadDatabase(base: try await base.database(address, as: caller), read: read)
    }
}

private struct ReadDatabase: ForwardingDatabase {
    let base: any RecordDatabase
    let read: @Sendable () -> Void

    func zoneChanges(_ request: ZoneChangesRequest) async throws -> ZoneChangesPage {
        defer { read() }
        return try await base.zoneChanges(request)
    }
}
