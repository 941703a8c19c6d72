internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import RecordStore
internal import Records
internal import RequestLog
internal import ServiceLifecycle
internal import Synchronization

/// A request for a feed: the database, the zone and the start token.
struct FeedRequest: Sendable {
    let database: any RecordDatabase
    let assets: RequestAssets
    let notifier: Notifier
    /// The zone; `nil` if the request names none.
    let zoneID: ZoneID?
    /// The start token. `nil` means the beginning, or the present for a live feed.
    let since: ChangeToken?
    /// The request's entry in the request log; `nil` if the request is not logged.
    let note: RequestRecorder?
    private let parameters: [String: String]
    /// The memory of the request; `nil` if the server does not limit memory.
    private let memory = RequestMemory.current

    /// Reads the query parameters `zone`, `owner` and `since`, and the header `Last-Event-ID` that an event source
    /// sends when it reconnects.
    init(
        _ request: Request, database: any RecordDatabase, assets: RequestAssets, notifier: Notifier,
        note: RequestRecorder?
    ) throws {
        self.database = database
        self.assets = assets
        self.notifier = notifier
        self.note = note
        parameters = Dictionary(
            request.uri.queryParameters.map { (String($0.key), String($0.value)) },
            uniquingKeysWith: { first, _ in first })
        let owner = parameters["owner"].map { Name($0) }
        zoneID = parameters["zone"].map { ZoneID(zoneName: Name($0), ownerRecordName: owner) }
        let lastEvent = request.headers[.lastEventID]
        since = (lastEvent ?? parameters["since"]).flatMap { $0.isEmpty ? nil : ChangeToken(text: $0) }
        if let zoneID { note?.about([zoneID]) }
    }

    func parameter(_ name: String) -> String? { parameters[name] }

    /// - Throws: `RecordError` BAD_REQUEST if the request names no zone.
    func requiredZoneID() throws -> ZoneID {
        guard let zoneID else { throw RecordError.unexpectedInput("Expected the query parameter 'zone'") }
        return zoneID
    }

    /// A page of a zone's changes.
    func page(of zoneID: ZoneID, since token: ChangeToken?, limit: PageLimit) async throws -> ZoneChangesPage {
        try await database.zoneChanges(ZoneChangesRequest(zoneID, since: token, limit: limit))
    }

    /// Runs the work before a stream begins. Errors are logged as a failed pull of the stream.
    func beginning<Value: Sendable>(of zoneID: ZoneID, _ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as RecordError {
            note?.pulled(ServedRequest.Pull(ZoneChangesRequest(zoneID, since: since), error))
            throw error
        }
    }

    /// Reserves the memory that a stream needs while it reads: the text of a page that is being sent, and the page
    /// after it.
    /// - Throws: `RecordError` TRY_AGAIN_LATER if there is not enough memory for some seconds.
    func makeRoom(forPagesOf limit: PageLimit) async throws {
        try await memory?.makeRoom(forAnswerOf: 2 * limit.bytes)
    }

    /// Releases that memory until the stream reads the next page.
    func giveBackRoom() { memory?.giveBackAnswer() }
}

/// Holds the first page of a stream until it is sent, so that a stream of hours does not keep it in memory.
final class FirstPage<Page: FeedPage>: Sendable {
    private let page: Mutex<Page?>

    init(_ page: Page) {
        self.page = Mutex(page)
    }

    func take() -> Page? { page.withLock { $0.take() } }
}

// MARK: - Changes

/// Streams the changes of a zone as they are committed, as server-sent events (HTML standard, "Server-sent events").
///
/// Each event is a page of changes. Its id is the token after the page, so that a client that reconnects with
/// `Last-Event-ID` misses no changes. The server queues no changes for slow clients; it reads them from the store, one
/// page ahead of the client.
struct Follow {
    /// The page limit of an event.
    private static let pageLimit = PageLimit(records: 200, bytes: 1 << 20)
    private let request: FeedRequest

    init(_ request: FeedRequest) {
        self.request = request
    }

    /// A page as an event.
    private struct Event: FeedPage {
        let text: [UInt8]
        /// The number of changes in the page.
        let changes: Int
        let syncToken: ChangeToken
        let moreComing: Bool
    }

    func response() async throws -> Response {
        let zoneID = try request.requiredZoneID()
        try await request.makeRoom(forPagesOf: Self.pageLimit)
        // Subscribes before the first read, so that no commit is missed in between.
        let commits = try request.database.require(.signalCommits).commits()
        let (start, first) = try await request.beginning(of: zoneID) {
            let start =
                if let since = request.since { since } else { try await request.database.currentToken(of: zoneID) }
            return (start, FirstPage(try await event(of: zoneID, since: start)))
        }
        let body = ResponseBody { writer in
            var (token, done) = (start, 0)
            // The first event gives the client its token, even if there are no changes yet.
            if let event = first.take() {
                try await writer.write(piecesOf: event.text)
                (token, done) = (event.syncToken, event.changes)
                note(event, after: done, from: start)
            }
            request.giveBackRoom()
            try await Wake.forEach(of: commits) { wake in
                while try await !hasRoom() {
                    // There is not enough memory. The client gets a heartbeat between two attempts.
                    try await writer.write(Wake.signOfLife)
                    if Task.isShuttingDownGracefully { return false }
                }
                defer { request.giveBackRoom() }
                do {
                    let endsEarly = try await event(of: zoneID, since: token).andLater {
                        try await event(of: zoneID, since: $0.syncToken)
                    } take: { event in
                        token = event.syncToken
                        if event.changes > 0 {
                            try await writer.write(piecesOf: event.text)
                            done += event.changes
                            note(event, after: done, from: start)
                        }
                        return !Task.isShuttingDownGracefully
                    }.moreComing
                    // The client reconnects with its last token.
                    if endsEarly { return false }
                } catch let error as RecordError {
                    // The zone may be deleted, for example. The client gets the error before the stream ends.
                    request.note?.streamFailed(error)
                    try await writer.write(Self.failure(error))
                    return false
                }
                if wake == .heartbeat { try await writer.write(Wake.signOfLife) }
                return true
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: Wake.eventStreamHeaders, body: body)
    }

    /// Reserves the memory for pages.
    /// - Returns: `false` if there was not enough for some seconds.
    private func hasRoom() async throws -> Bool {
        do {
            try await request.makeRoom(forPagesOf: Self.pageLimit)
            return true
        } catch let error as RecordError where error.code == .tryAgainLater {
            return false
        }
    }

    /// Logs how far the client has read.
    private func note(_ event: Event, after done: Int, from start: ChangeToken) {
        request.note?.streamed(
            ServedRequest.Pull(
                zoneID: request.zoneID, sent: start, given: event.syncToken, moreComing: event.moreComing, changes: done
            ))
    }

    private static func failure(_ error: RecordError) -> ByteBuffer {
        var writer = JSONWriter()
        writer.object { $0.members(of: error) }
        var buffer = ByteBuffer(string: "event: failed\ndata: ")
        buffer.writeBytes(writer.bytes)
        buffer.writeString("\n\n")
        return buffer
    }

    private func event(of zoneID: ZoneID, since token: ChangeToken) async throws -> Event {
        let page = try await request.page(of: zoneID, since: token, limit: Self.pageLimit)
        let downloadURL = try await request.assets.addresses(ifAny: page.changes.contains { $0.mayHoldAssets })
        var writer = JSONWriter()
        try writer.object { writer in
            try writer.member("changes", values: page.changes) { try $0.value($1, downloadURL: downloadURL) }
            writer.member("syncToken", page.syncToken.text)
        }
        return Event(
            text: "id: \(page.syncToken.text)\nevent: changes\ndata: ".utf8 + writer.bytes + "\n\n".utf8,
            changes: page.changes.count,
            syncToken: page.syncToken, moreComing: page.moreComing)
    }
}

// MARK: - Commits

/// Sends a server-sent event for each commit to the container's environment, for clients that follow several zones or a
/// database.
///
/// While a client is slow, commits are merged into one event. Clients read the changes themselves through the regular
/// services.
struct Commits {
    private static let sign = ByteBuffer(string: "event: commit\ndata: 1\n\n")

    private let request: FeedRequest

    init(_ request: FeedRequest) {
        self.request = request
    }

    func response() async throws -> Response {
        let commits = try request.database.require(.signalCommits).commits()
        let body = ResponseBody { writer in
            // The first event confirms that the subscription is active. Earlier commits are already readable.
            try await Wake.forEach(of: commits) { wake in
                try await writer.write(wake == .heartbeat ? Wake.signOfLife : Self.sign)
                return true
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: Wake.eventStreamHeaders, body: body)
    }
}

// MARK: - Notifications

/// Streams the notifications of the user's subscriptions to a database as they occur, as server-sent events.
///
/// The data of an event is a notification in the web courier's format. The ID is the position up to which all
/// notifications were sent, so that a client that reconnects with `Last-Event-ID` misses none. A stream is not a
/// device, so it also includes changes that its own client made.
struct NotificationEvents {
    private let request: FeedRequest

    init(_ request: FeedRequest) {
        self.request = request
    }

    func response() async throws -> Response {
        let (address, user, notifier) = (
            request.database.address, request.database.caller.userRecordName, request.notifier
        )
        let place = Notifier.Place(container: address.container, environment: address.environment)
        let present = try await notifier.present(at: place, for: user)
        let position = try start ?? present
        let body = ResponseBody { writer in
            let queue = notifier.stream(to: user, of: address, after: position)
            defer { notifier.end(queue) }
            // The first event confirms that the stream is active.
            try await writer.write(ByteBuffer(string: "id: \(position)\nevent: following\ndata: {}\n\n"))
            try await withGracefulShutdownHandler {
                while !Task.isShuttingDownGracefully {
                    guard let delivery = await queue.next(within: Wake.interval) else {
                        if queue.isClosed { break }
                        notifier.resume(queue)
                        try await writer.write(Wake.signOfLife)
                        continue
                    }
                    queue.confirm(delivery)
                    let position = queue.deliveredPosition(at: place) ?? delivery.position
                    try await writer.write(
                        piecesOf: "id: \(position)\nevent: notification\ndata: ".utf8 + delivery.bytes + "\n\n".utf8)
                }
            } onGracefulShutdown: {
                queue.close()
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: Wake.eventStreamHeaders, body: body)
    }

    /// The position after which the stream begins; `nil` to begin now.
    private var start: Int64? {
        get throws {
            guard let text = request.since?.text else { return nil }
            guard let position = Int64(text), position >= 0 else {
                throw RecordError.unexpectedInput(
                    "Expected 'since' to be the id of an event of this stream, found '\(text.prefix(100))'")
            }
            return position
        }
    }
}

// MARK: - Commits and heartbeats

/// The events that wake an idle event stream.
enum Wake: Sendable {
    case commit
    case heartbeat

    /// The time between heartbeats on a quiet stream. Heartbeats let both sides detect a dead connection.
    static let interval: Duration = .seconds(15)

    /// A heartbeat: a comment of the event stream format, which clients ignore.
    static let signOfLife = ByteBuffer(string: ": still here\n\n")

    static let eventStreamHeaders: HTTPFields = [.contentType: "text/event-stream", .cacheControl: "no-store"]

    /// Calls the body once at the start and then at commits and heartbeats, until it returns `false` or
    /// the store or the server shuts down. Events that arrive while the body runs are merged into one.
    static func forEach(of commits: AsyncStream<Void>, _ body: (Wake) async throws -> Bool) async throws {
        let (wakes, continuation) = AsyncStream.makeStream(of: Wake.self, bufferingPolicy: .bufferingNewest(1))
        continuation.yield(.commit)
        let forwarding = Task {
            for await _ in commits { continuation.yield(.commit) }
            continuation.finish()
        }
        let beating = Task {
            while !Task.isCancelled {
                try await Task.sleep(for: interval)
                beat(continuation)
            }
        }
        defer {
            forwarding.cancel()
            beating.cancel()
        }
        try await withGracefulShutdownHandler {
            for await wake in wakes {
                guard try await body(wake) else { return }
            }
        } onGracefulShutdown: {
            continuation.finish()
        }
    }

    /// Queues a heartbeat. The queue holds one event, so a commit that the heartbeat would displace is queued again.
    static func beat(_ continuation: AsyncStream<Wake>.Continuation) {
        if case .dropped(.commit) = continuation.yield(.heartbeat) { continuation.yield(.commit) }
    }
}
