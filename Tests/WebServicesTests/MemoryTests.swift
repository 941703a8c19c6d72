import HTTPServing
import JSON
import Testing

/// Large answers to many clients at a time.
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
