import InMemoryRecordStore
import RecordStore
import Records
import RequestLog
import Testing

@testable import WebServices

/// A request to a key-value store that waits for changes.
@Suite("Waiting for a key-value store")
struct KeyValueWaitTests {
    private static let path = "/skylight/1/\(ScenarioRunner.container)/development/private/keyvalues/changes"

    private static func changes(_ server: TestServer, _ query: String) async throws -> JSONValue {
        let request = "GET \(path)\(query) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        return try #require(try await server.client.exchange(request).first).json()
    }

    /// Other commits wake it, and leave it waiting.
    @Test("It is answered with the first change after its token")
    func waiting() async throws {
        let (looks, looked) = AsyncStream.makeStream(of: Look.self)
        let engine = WatchedEngine(base: InMemoryRecordEngine(), looked: looked)
        try await TestServer.run(on: engine) { server in
            guard case .string(let token)? = Subset.value(at: "syncToken", in: try await Self.changes(server, ""))
            else {
                throw RecordError(.internalError, "The answer has no token")
            }
            var seen = looks.makeAsyncIterator()
            #expect(await seen.next() == .whole(0))
            async let answer = Self.changes(server, "?wait=55&syncToken=\(token)")
            // It has looked, and found nothing.
            #expect(await seen.next() == .whole(0))
            let database = try await engine.base.database(ScenarioRunner.address, as: ScenarioRunner.developer)
            _ = try await database.modifyZones([.create(ZoneID(zoneName: "Z"))])
            // It does not read the store for each commit.
            #expect(await seen.next() == .news(false))
            _ = try await database.require(.keepKeyValues).modifyKeyValues([.set("a", .integer(1))])
            #expect(Subset.value(at: "changes.0.key", in: try await answer) == .string("a"))
            #expect(await seen.next() == .news(true))
            #expect(await seen.next() == .whole(1))
        }
        await engine.close()
    }

    @Test("It is answered without changes when its time is over")
    func late() async throws {
        try await TestServer.run { server in
            guard case .string(let token)? = Subset.value(at: "syncToken", in: try await Self.changes(server, ""))
            else {
                throw RecordError(.internalError, "The answer has no token")
            }
            let answer = try await Self.changes(server, "?wait=1&syncToken=\(token)")
            #expect(server.log.latest(2).map(\.hasWaited).sorted { !$0 && $1 } == [false, true])
            #expect(
                Subset.value(at: "changes", in: answer) == .array([])
                    && Subset.value(at: "syncToken", in: answer) == .string(token))
        }
    }
}

/// A look at a key-value store.
private enum Look: Equatable {
    /// For all changes, with how many there were.
    case whole(Int)
    case news(Bool)
}

/// Tells of each look at a key-value store.
private struct WatchedEngine: ForwardingEngine {
    let base: any RecordEngine
    let looked: AsyncStream<Look>.Continuation

    func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase {
        WatchedDatabase(base: try await base.database(address, as: caller), looked: looked)
    }
}

private struct WatchedDatabase: ForwardingDatabase, KeyValueKeeping {
    let base: any RecordDatabase
    let looked: AsyncStream<Look>.Continuation

    func keyValues(since token: ChangeToken?) async throws -> KeyValueChanges {
        let found = try await base.require(.keepKeyValues).keyValues(since: token)
        looked.yield(.whole(found.changes.count))
        return found
    }

    func hasKeyValues(since token: ChangeToken) async throws -> Bool {
        let hasNews = try await base.require(.keepKeyValues).hasKeyValues(since: token)
        looked.yield(.news(hasNews))
        return hasNews
    }

    func modifyKeyValues(_ operations: [KeyValueOperation]) async throws -> KeyValueUsage {
        try await base.require(.keepKeyValues).modifyKeyValues(operations)
    }
}
