import NIOCore
import NIOPosix
import RecordStore
import Records
import RequestLog
import TestSupport
import Testing

@testable import SQLRecordStore
@testable import TestStores

/// Requests that take long, and those of other connections on the same event loop.
@Suite(
    "Requests that share an event loop", .enabled(if: StoreUnderTest.isSQLite, "it is about files"),
    .timeLimit(.minutes(5)))
struct EventLoopTests {
    private static let query = "records/query"
    /// No index finds what has another value, so each record is read.
    private static let slow =
        #"{"query":{"recordType":"N","filterBy":[{"fieldName":"x","comparator":"NOT_EQUALS","fieldValue":{"value":1}}]}}"#

    /// Runs a server with one event loop and 3,000 records, which all have the same value.
    private static func run(_ body: @Sendable (NotedClient, SQLStore) async throws -> Void) async throws {
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        try await TestServer.run(on: loops) { server in
            let client = NotedClient(server: server)
            for start in stride(from: 0, to: 3000, by: 200) {
                let operations = (start..<start + 200).map {
                    #"{"operationType":"create","record":{"recordType":"N","recordName":"r\#($0)","fields":{"x":{"value":1}}}}"#
                }
                try await client.post("records/modify", #"{"operations":[\#(operations.joined(separator: ","))]}"#)
            }
            let address = DatabaseAddress(
                container: try #require(ContainerID(ScenarioRunner.container)), environment: .development,
                scope: .private)
            let database = try await server.engine.database(address, as: Caller(userRecordName: "_somebody"))
            try await body(client, try #require(database as? SQLDatabase).store)
        }
        try await loops.shutdownGracefully()
    }

    /// Requests of all kinds that the loop answers itself.
    private static func othersAreAnswered(_ client: NotedClient) async throws {
        for _ in 0..<3 {
            #expect(
                try await client.post("records/lookup", #"{"records":[{"recordName":"r7"}]}"#).text.contains("\"r7\""))
            #expect(try await client.send("GET", "zones/list").status == 200)
            #expect(try await client.send("GET", "/assets/nothing").status == 404)
            #expect(try await client.send("GET", "/health").status == 200)
        }
    }

    @Test("Other connections are answered while the disk keeps a save waiting")
    func stalledDisk() async throws {
        try await Self.run { client, store in
            let held = HeldWork()
            async let stalled: Void = store.write { _, _ in held.hold() }
            try await eventually { held.count == 1 }
            let body = #"{"operations":[{"operationType":"create","record":{"recordType":"N","recordName":"later"}}]}"#
            let head = NotedClient.head("POST", "\(NotedClient.root)/records/modify", [], length: body.utf8.count)
            try await client.server.client.hangUp(after: Array((head + body).utf8)) {
                // The loop gets what other connections send after that.
                try await Self.othersAreAnswered(client)
                held.release(1)
            }
            try await stalled
            try await eventually {
                try await client.post("records/lookup", #"{"records":[{"recordName":"later"}]}"#).text
                    .contains("recordChangeTag")
            }
        }
    }

    @Test("Other connections are answered while a long query waits for its turn")
    func longQuery() async throws {
        try await Self.run { client, store in
            try await store.holdingTurns(of: .query) { turns in
                async let answer = client.post(Self.query, Self.slow)
                try await eventually { turns.waitingCount == 1 }
                try await Self.othersAreAnswered(client)
                turns.release()
                #expect(try await answer.text.contains(#""records":[]"#))
            }
        }
    }

    @Test("A large page is the same, whether it begins on the event loop or elsewhere")
    func largePage() async throws {
        try await Self.run { client, _ in
            let page =
                #"{"query":{"recordType":"N","filterBy":[{"fieldName":"x","comparator":"EQUALS","fieldValue":{"value":1}}],"sortBy":[{"fieldName":"x"}]}}"#
            var answers: Set<String> = []
            // One of sixteen leaves the loop.
            for _ in 0..<20 {
                let answer = try await client.post(Self.query, page)
                #expect(try client.noted(answer).records == 200)
                answers.insert(answer.text)
            }
            #expect(answers.count == 1)
        }
    }
}
