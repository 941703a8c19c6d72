internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import NIOCore
internal import RecordStore
internal import Records
internal import ServiceLifecycle

/// Streams the notifications of the user's subscriptions to a database as they fire, as server-sent events.
///
/// The data of an event is a notification as the web courier hands it out. The id is the position up to which all was sent, so that a client that
/// reconnects with `Last-Event-ID` misses nothing. The stream is no device: it also has the changes that its own client made.
struct NotificationEvents {
    private let request: FeedRequest

    init(_ request: FeedRequest) {
        self.request = request
    }

    func response() async throws -> Response {
        let (address, user, notifier) = (request.database.address, request.database.caller.userRecordName, request.notifier)
        let place = Notifier.Place(container: address.container, environment: address.environment)
        let present = try await notifier.present(at: place, for: user)
        let position = try start ?? present
        let body = ResponseBody { writer in
            let courier = notifier.stream(to: user, of: address, after: position)
            defer { notifier.end(courier) }
            // The first event confirms that the stream is active.
            try await writer.write(ByteBuffer(string: "id: \(position)\nevent: following\ndata: {}\n\n"))
            try await withGracefulShutdownHandler {
                while !Task.isShuttingDownGracefully {
                    guard let parcel = await courier.next(within: Wake.interval) else {
                        if courier.isClosed { break }
                        notifier.resume(courier)
                        try await writer.write(Wake.signOfLife)
                        continue
                    }
                    courier.confirm(parcel)
                    let told = courier.told(at: place) ?? parcel.position
                    try await writer.write(piecesOf: "id: \(told)\nevent: notification\ndata: ".utf8 + parcel.bytes + "\n\n".utf8)
                }
            } onGracefulShutdown: {
                courier.close()
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: Wake.eventStreamHeaders, body: body)
    }

    /// The position after which the stream begins; `nil` for the present.
    private var start: Int64? {
        get throws {
            guard let text = request.since?.text else { return nil }
            guard let position = Int64(text), position >= 0 else {
                throw RecordError.unexpectedInput("Expected 'since' to be the id of an event of this stream, found '\(text.prefix(100))'")
            }
            return position
        }
    }
}
