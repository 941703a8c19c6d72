internal import AsyncHTTPClient
internal import NIOCore
internal import RecordStore
public import Records

extension RemoteDatabase {
    func subscriptions() async throws -> [Subscription] {
        let answer = try await line.get("subscriptions/list", of: .database)
        return try answer.array("subscriptions").map { try Subscription($0.object()) }.sorted {
            $0.subscriptionID < $1.subscriptionID
        }
    }

    func modifySubscriptions(_ operations: [SubscriptionOperation]) async throws -> [Result<
        SubscriptionOperation, RecordError
    >] {
        try await inParts(operations) { part in
            let answer = try await line.post("subscriptions/modify", of: .database, .saves) { writer in
                writer.name("operations")
                writer.array { writer in
                    for operation in part { writer.value(operation) }
                }
            }
            let items = try answer.results("subscriptions") { $0 }
            guard items.count == part.count else { throw answer.unexpected("an item for each operation") }
            return try zip(items, part).map { item, operation in
                switch (item, operation) {
                case (.failure(let error), _): .failure(error)
                case (.success(let item), .save): .success(.save(try Subscription(item.object())))
                case (.success, .delete): .success(operation)
                }
            }
        }
    }
}

extension JSONWriter {
    fileprivate mutating func value(_ operation: SubscriptionOperation) {
        object { writer in
            switch operation {
            case .save(let subscription):
                writer.member("operationType", "create")
                writer.name("subscription")
                writer.value(subscription)
            case .delete(let subscriptionID):
                writer.member("operationType", "delete")
                writer.name("subscription")
                writer.object { $0.member("subscriptionID", subscriptionID) }
            }
        }
    }
}

// MARK: - Notifications

/// A notification as the server sent it.
public struct SentNotification: Sendable, Hashable {
    /// The place to go on after it.
    public let eventID: String
    /// A JSON object with the members `aps` and `ck`, as the web courier hands it out.
    public let bytes: [UInt8]
}

extension RemoteRecordEngine {
    private static var pause: Duration { .seconds(1) }

    /// Follows the notifications of a user's subscriptions to a database. Connects again after the connection broke,
    /// without missing any.
    /// - Parameters:
    ///   - eventID: the last notification that was taken; `nil` for those from now on.
    ///   - take: receives each notification, one after the other.
    /// - Throws: `RecordError` if the server refuses or does not answer any more; `CancellationError`; errors of
    ///   `take`.
    public func followNotifications(
        of address: DatabaseAddress, as caller: Caller, after eventID: String?,
        _ take: (SentNotification) async throws -> Void
    ) async throws {
        let line = try ServerLine(server, to: address, as: caller)
        var last = eventID
        while server.isOpen {
            var events = EventStreamParser()
            do {
                for try await part in try await line.stream("notifications", lastEventID: last) {
                    for event in try events.events(after: part.readableBytesView) {
                        if event.name == "notification" {
                            try await ReceiverError.run {
                                try await take(SentNotification(eventID: event.id, bytes: event.data))
                            }
                        }
                        last = event.id
                    }
                }
            } catch let error as ReceiverError {
                throw error.cause
            } catch let error as RecordError {
                // It is asked once more only if it can be reached.
                throw error
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                // The connection broke. The next one says why there is none.
            }
            try await Task.sleep(for: Self.pause)
        }
    }
}

/// An error of the receiver, which must not be taken for one of the connection.
private struct ReceiverError: Error {
    let cause: any Error

    static func run(_ body: () async throws -> Void) async throws {
        do { try await body() } catch { throw ReceiverError(cause: error) }
    }
}

/// Takes apart an event stream (HTML standard, "Server-sent events") as Skylight writes it.
struct EventStreamParser {
    struct Event: Hashable {
        var id = ""
        var name = ""
        var data: [UInt8] = []
    }

    /// Maximum size of an event in bytes. A server sends smaller ones.
    static let limit = 1 << 20
    private var line: [UInt8] = []
    private var event = Event()

    /// The events that are complete with these bytes. Parts may be split anywhere.
    /// - Throws: `RecordError` INTERNAL_ERROR for an event above ``limit``.
    mutating func events(after part: some Sequence<UInt8>) throws -> [Event] {
        var events: [Event] = []
        for byte in part {
            guard byte == UInt8(ascii: "\n") else {
                line.append(byte)
                if line.count > Self.limit {
                    throw RecordError(
                        .internalError, "The server's event stream has an event above \(Self.limit) bytes")
                }
                continue
            }
            if line.isEmpty {
                // A comment ends like an event, but has no data.
                if !event.data.isEmpty { events.append(event) }
                event = Event()
            } else if let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0 {
                let value = Array(line[(colon + 1)...].drop { $0 == UInt8(ascii: " ") })
                switch String(decoding: line[..<colon], as: UTF8.self) {
                case "id": event.id = String(decoding: value, as: UTF8.self)
                case "event": event.name = String(decoding: value, as: UTF8.self)
                case "data": event.data = value
                default: break
                }
            }
            line = []
        }
        return events
    }
}
