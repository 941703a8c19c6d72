import HTTPServing
import JSON
import Testing

/// Large answers to clients that don't read them.
@Suite("Memory for answers", .timeLimit(.minutes(5)))
struct MemoryTests {
    private static let count = 12
    private static let limit = 48 << 20
    private static let lookup: [UInt8] = request(names: (0..<count).map { "large\($0)" })

    private static func request(names: [String]) -> [UInt8] {
        let body = "{\"records\":[\(names.map { "{\"recordName\":\"\($0)\"}" }.joined(separator: ","))]}"
        return Array(NotedClient.head("POST", "\(NotedClient.root)/records/lookup", [], length: body.utf8.count).utf8) + Array(body.utf8)
    }

    private static func run(_ kind: EngineKind, _ body: @Sendable (TestServer, MemoryBudget) async throws -> Void) async throws {
        let budget = MemoryBudget(limit: limit)
        try await TestServer.run(kind, memory: budget) { server in
            let client = NotedClient(server: server)
            let text = String(repeating: "x", count: 900_000)
            func save(_ name: String, _ text: String) async throws {
                let record = #"{"recordType":"N","recordName":"\#(name)","fields":{"x":{"value":"\#(text)"}}}"#
                #expect(try await client.post("records/modify", #"{"operations":[{"operationType":"create","record":\#(record)}]}"#).status == 200)
            }
            for number in 0..<count { try await save("large\(number)", text) }
            try await save("small", "x")
            try await isGivenBack(budget)
            try await body(server, budget)
        }
    }

    /// Waits until nothing is taken.
    private static func isGivenBack(_ budget: MemoryBudget) async throws {
        while budget.takenBytes > 0 { try await Task.sleep(for: .milliseconds(5)) }
    }

    @Test("Answers that nobody reads take so much and no more, and small ones find room beside them", arguments: EngineKind.allCases)
    func unread(kind: EngineKind) async throws {
        try await Self.run(kind) { server, budget in
            let answerSize = try #require(try await server.client.exchange(Self.lookup).first).body.count
            try await Self.isGivenBack(budget)
            func isTaken(_ count: Int) async throws {
                var turns = 0
                while budget.takenBytes != count * answerSize, turns < 2000 {
                    try await Task.sleep(for: .milliseconds(5))
                    turns += 1
                }
                #expect(budget.takenBytes == count * answerSize)
            }
            // Three are held. For a fourth there is no room as long as it is made, which takes twice as much.
            try await server.client.withoutReading(Self.lookup, times: 3, isTaken) {
                let refused = try #require(try await server.client.exchange(Self.lookup).first)
                #expect(refused.status == 503 && refused.headers["retry-after"] != nil)
                #expect(Subset.differences(["serverErrorCode": "TRY_AGAIN_LATER", "retryAfter": "<any>", "reason": "<has --transfer-memory>"], try refused.json()).isEmpty)
                #expect(budget.takenBytes == 3 * answerSize)
                #expect(try await server.client.exchange(Self.request(names: ["small"])).map(\.status) == [200])
            }
            // Who hangs up gives back, and the next one is answered.
            try await Self.isGivenBack(budget)
            let answer = try #require(try await server.client.exchange(Self.lookup).first)
            #expect(answer.status == 200 && answer.body.count == answerSize)
            try await Self.isGivenBack(budget)
        }
    }

    @Test("Of many large answers at once each is made in the end")
    func queued() async throws {
        try await Self.run(.inMemory) { server, budget in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        var status: Int?
                        // How long one waits depends on how busy the machine is.
                        repeat { status = try await server.client.exchange(Self.lookup).first?.status } while status == 503
                        #expect(status == 200)
                    }
                }
                try await group.waitForAll()
            }
            try await Self.isGivenBack(budget)
        }
    }
}
