import CloudKitClient
import LoopbackServing
import Records
import Synchronization
import TestSupport
import Testing

@testable import RemoteRecords

/// Notifications at the web courier, and engines that they wake.
@Suite struct NotificationTests {
    private static func notification(_ kind: String, _ name: String = "n") -> String {
        #"{"aps":{"content-available":1},"ck":{"ce":2,"cid":"\#(testContainer)","nid":"\#(name)",\#(kind)}}"#
    }

    /// A server with a courier, whose requests for notifications are counted from 0.
    private static func withCourier(
        _ courier: @escaping @Sendable (Int) -> ScriptedServer.Reply,
        _ body: (Container, ScriptedServer) async throws -> Void
    ) async throws {
        let count = Mutex(0)
        try await withScript(
            { request, number in
                if request.path.hasSuffix("tokens/create") {
                    let url = "http://\(request.headers["host"] ?? "")/aps?tok=t\(number)"
                    return .json(
                        #"{"apnsEnvironment":"development","apnsToken":"t\#(number)","webcourierURL":"\#(url)"}"#)
                }
                if request.path.hasSuffix("tokens/register") { return .json("{}") }
                guard request.path == "/aps" else { return .json("{}") }
                let place = count.withLock { count in
                    defer { count += 1 }
                    return count
                }
                return courier(place)
            }, body)
    }

    @Test func notificationsTellTheirSubject() throws {
        func read(_ kind: String) throws -> RemoteNotification? {
            RemoteNotification(try JSONReader.value(of: Self.notification(kind)).object)
        }
        let record = try #require(
            try read(#""qry":{"sid":"q","rid":"r1","fo":2,"zid":"Items","zoid":"_a","dbs":0,"af":{"text":"new"}}"#))
        #expect(
            record.subject
                == .record(
                    RecordID(recordName: "r1", zoneID: ZoneID(zoneName: "Items", ownerRecordName: "_a")), .update))
        #expect(record.scope == .public && record.subscriptionID == "q" && record.notificationID == "n")
        let zoned = try read(#""fet":{"dbs":2,"sid":"z","zid":"Items","zoid":"_a"}"#)
        #expect(zoned?.subject == .zone(ZoneID(zoneName: "Items", ownerRecordName: "_a")) && zoned?.scope == .shared)
        let database = try read(#""met":{"dbs":1,"sid":"d"}"#)
        #expect(database?.subject == .database(nil) && database?.scope == .private)
        #expect(try read(#""other":{}"#) == nil && read(#""qry":{"fo":9,"rid":"r"}"#) == nil)
    }

    /// Keep-alives are no notifications, and a token that has ended is replaced.
    @Test func notificationsComeOneByOne() async throws {
        let replies: [ScriptedServer.Reply] = [
            .json("null"), .json(Self.notification(#""met":{"dbs":1}"#, "first")), .json("{}"),
            .raw("gone", status: 404),
            .json(Self.notification(#""met":{"dbs":1}"#, "second")),
        ]
        try await Self.withCourier({ replies[min($0, replies.count - 1)] }) { container, server in
            var names: [String] = []
            for try await notification in container.notifications {
                names.append(notification.notificationID ?? "")
                if names.count == 2 { break }
            }
            #expect(names == ["first", "second"])
            #expect(
                server.requests.map { $0.path.split(separator: "/").last ?? "" } == [
                    "create", "register", "aps", "aps", "aps", "aps", "create", "register", "aps",
                ])
            // The same device, and another token.
            let clients = try server.requests.filter { $0.path.hasSuffix("tokens/create") }.map {
                try JSONReader.value(of: $0.body).object["clientId"]
            }
            #expect(clients[0] == clients[1] && Set(server.requests.compactMap { $0.parameter("tok") }).count == 2)
        }
    }

    @Test func aCourierThatRefusesEveryTokenIsAnError() async throws {
        try await Self.withCourier({ _ in .raw("no", status: 403) }) { container, server in
            let error = await operationError { for try await _ in container.notifications {} }
            #expect(error?.code == .assetNotAvailable && server.requests.filter { $0.path == "/aps" }.count == 3)
        }
    }

    /// Only a notification ends a pause of an hour.
    @Test func aSaveOnOneDeviceWakesTheOther() async throws {
        try await LiveServer.run { server in
            try await server.device(pacing: Pacing()) { listening in
                try await server.device { saving in
                    let database = Container(saving).privateCloudDatabase
                    try await database.save(zone)
                    let app = Device()
                    let engine = try app.engine(Container(listening))
                    let running = Task { try await engine.run(every: .seconds(3600), listening: true) }
                    try await eventually {
                        try await database.allSubscriptions().map(\.subject) == [.database(recordType: nil)]
                    }
                    for name in ["a", "b", "c"] {
                        var record = Record(
                            recordType: "Item", recordID: RecordID(recordName: Name(name), zoneID: zone))
                        record["text"] = name
                        try await database.save(record)
                        try await eventually { app.texts[Name(name)] == name }
                    }
                    running.cancel()
                    #expect(await operationError { try await running.value }?.code == .operationCancelled)
                }
            }
        }
    }
}
