import Accounts
import RecordStore
import Records
import TestSupport
import Testing

@testable import WebServices

/// Many clients hold the web courier while another one saves.
@Suite struct ManyQueuesTests {
    private static let device = "/device/1/\(ScenarioRunner.container)/development"
    private static let database = "/database/1/\(ScenarioRunner.container)/development/public"
    private static let count = 20
    /// The first ones take nothing while the others save.
    private static let slow = 3
    private static let rounds = 15

    /// Saves public records, each for the client whose number it has.
    private static func save(_ records: [(name: String, client: Int)], on server: TestServer) async throws {
        let operations = records.map { name, client in
            #"{"operationType":"forceUpdate","record":{"recordType":"Item","recordName":"\#(name)","fields":{"n":{"value":\#(client),"type":"INT64"}}}}"#
        }
        let answer = try await NotedClient(server: server).post(
            "\(database)/records/modify", #"{"operations":[\#(operations.joined(separator: ","))]}"#)
        #expect(answer.status == 200 && !answer.text.contains("serverErrorCode"), "\(answer.text)")
    }

    /// A client whose user subscribes to the records with its number.
    private struct Listener {
        let client: NotedClient
        let token: String
        let queue: DeviceQueue

        init(_ number: Int, on server: TestServer) async throws {
            client = NotedClient(server: server, headers: ["X-Skylight-User: listener\(number)"])
            let query =
                #"{"recordType":"Item","filterBy":[{"fieldName":"n","comparator":"EQUALS","fieldValue":{"value":\#(number),"type":"INT64"}}]}"#
            let subscription =
                #"{"subscriptionID":"mine","subscriptionType":"query","query":\#(query),"firesOn":["create"],"notificationInfo":{"shouldSendContentAvailable":true}}"#
            let answer = try await client.post(
                "\(database)/subscriptions/modify",
                #"{"operations":[{"operationType":"create","subscription":\#(subscription)}]}"#)
            #expect(!answer.text.contains("serverErrorCode"), "\(answer.text)")
            token = try client.token(try await client.post("\(device)/tokens/create", "{}"), "apnsToken")
            queue = try #require(server.notifier.queue(of: token))
        }

        /// The names of the next records.
        func take(_ count: Int) async throws -> [String] {
            var names: [String] = []
            while names.count < count {
                let json = try await client.send("GET", "/aps?tok=\(token)").json()
                if case .string(let name)? = Subset.value(at: "ck.qry.rid", in: json) { names.append(name) }
            }
            return names
        }
    }

    @Test("Nothing that waits is lost, and no more waits than may")
    func nothingIsLost() async throws {
        try await TestServer.run { server in
            try await Self.save([("first", -1)], on: server)
            var listeners: [Listener] = []
            for number in 0..<Self.count { listeners.append(try await Listener(number, on: server)) }
            let told = try await withThrowingTaskGroup(of: (Int, [String]).self) { group in
                for (number, listener) in listeners.enumerated().dropFirst(Self.slow) {
                    group.addTask { (number, try await listener.take(Self.rounds)) }
                }
                for listener in listeners.dropFirst(Self.slow) { try await eventually { listener.queue.takers >= 1 } }
                for round in 0..<Self.rounds {
                    try await Self.save((0..<Self.count).map { ("\($0)-\(round)", $0) }, on: server)
                }
                return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            for (number, names) in told { #expect(names == (0..<Self.rounds).map { "\(number)-\($0)" }) }
            for number in 1..<Self.slow {
                #expect(try await listeners[number].take(Self.rounds) == (0..<Self.rounds).map { "\(number)-\($0)" })
            }
            // A client that never comes has the latest ones.
            for start in stride(from: 0, to: DeviceQueue.limit, by: 200) {
                try await Self.save((start..<start + 200).map { ("flood\($0)", 0) }, on: server)
            }
            let place = Notifier.Place(container: ScenarioRunner.address.container, environment: .development)
            let present = try await server.notifier.present(at: place, for: ScenarioRunner.developer.userRecordName)
            try await eventually { listeners[0].queue.read(at: place) ?? 0 >= present }
            #expect(listeners[0].queue.count == DeviceQueue.limit)
            #expect(try await listeners[0].take(2) == ["flood0", "flood1"])
        }
    }
}
