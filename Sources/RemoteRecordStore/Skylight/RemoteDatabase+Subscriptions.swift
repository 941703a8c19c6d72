internal import AsyncHTTPClient
internal import CloudKitClient
internal import NIOCore
internal import RecordStore
public import Records

// MARK: - Notifications

/// A notification as the server sent it.
public struct SentNotification: Sendable, Hashable {
    /// The ID to continue after this notification.
    public let eventID: String
    /// The notification as JSON: an object with the members `aps` and `ck`, as the web courier returns it.
    public let bytes: [UInt8]
}

extension RemoteRecordEngine {
    private static var pause: Duration { .seconds(1) }

    /// Follows the notifications of a user's subscriptions to a database. After a broken connection it connects again
    /// and misses none.
    /// - Parameters:
    ///   - eventID: the ID of the last received notification; `nil` to begin now.
    ///   - take: receives the notifications one after another.
    /// - Throws: `RecordError` if the server refuses the request or no longer answers; `CancellationError`; errors of
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
                // The request is only repeated if the server can be reached.
                throw error
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                // The connection broke. If there is no new connection, the next attempt reports the reason.
            }
            try await Task.sleep(for: Self.pause)
        }
    }
}

/// The error of the receiver, wrapped to distinguish it from an error of the connection.
private struct ReceiverError: Error {
    let cause: any Error

    static func run(_ body: () async throws -> Void) async throws {
        do { try await body() } catch { throw ReceiverError(cause: error) }
    }
}

/// Parses an event stream (HTML standard, "Server-sent events") in the form that Skylight writes.
struct EventStreamParser {
    struct Event: Hashable {
        var id = ""
        var name = ""
        var data: [UInt8] = []
    }

    /// The maximum size of an event in bytes. A server sends smaller events.
    static let limit = 1 << 20
    private var line: [UInt8] = []
    private var event = Event()

    /// Returns the events that these bytes complete. The stream may be split anywhere.
    /// - Throws: `RecordError` INTERNAL_ERROR for an event larger than ``limit``.
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
