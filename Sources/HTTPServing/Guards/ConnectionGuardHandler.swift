internal import Hummingbird
internal import NIOCore
internal import NIOHTTP1
internal import NIOTLS

/// The handler between the HTTP/1 parser and Hummingbird, for tasks that are impossible later in the pipeline.
///
/// - Marks targets in absolute form (`GET http://host/path`) with a prefix. The next handler would remove scheme and
///   host without a trace. ``HostGuard`` refuses targets that do not begin with a slash.
/// - Answers `Expect: 100-continue`, which curl sends before large bodies, unless the body would be refused for its
///   size.
/// - Sends files, see ``SentFileRegion``.
/// - Gives an answer that was passed on its own date.
/// - Reads nothing after a refusal that ends the connection, so that the rest of the refused request cannot smuggle in
///   another one.
/// - Reads the rest of a request that is already answered, for a short time and up to ``remainderLimit``.
/// - Ends the connection when a request turns out to be malformed after its answer began. Hummingbird would answer a
///   second time.
final class ConnectionGuardHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// The outbound event that announces the last answer on a connection.
    struct CloseAfterResponse: Sendable {}

    /// An outbound event that registers a callback for when the client disconnects. It is called once, immediately if
    /// the client is already gone.
    struct OnDisconnect: Sendable {
        let tell: @Sendable () -> Void
    }

    /// The maximum number of bytes to read of a request after its answer. Many clients read the answer only after they
    /// have sent everything.
    static let remainderLimit = 16 << 20
    /// The time for the client to send the rest and to read the answer before the connection is closed. Long enough for
    /// a busy machine.
    private static let lingerTime = TimeAmount.seconds(30)

    /// The current request and its answer.
    private struct Exchange {
        var isHead = false
        /// The remaining bytes of the body; `nil` if the head has no length.
        var bytesToCome: Int? = 0
        /// True if the request has arrived completely.
        var isComplete = true
        var isAnswerBegun = false
        var isAnswered = false
        /// True if a second answer was dropped, so that its other parts must be dropped too.
        var isSecondAnswer = false
        /// The number of bytes received after the answer.
        var bytesAfterAnswer = 0
        var onDisconnect: [OnDisconnect] = []
    }

    private let uploadLimit: Int64
    private var exchange = Exchange()
    private var endsWithAnswer = false
    private var linger: Scheduled<Void>?
    private var hasClientLeft = false
    /// True if file regions can be sent without copying. Encrypted connections cannot.
    private(set) var takesFileRegions = true

    /// - Parameter uploadLimit: the maximum size of an uploaded asset in bytes.
    init(uploadLimit: Int64) {
        self.uploadLimit = uploadLimit
    }

    // MARK: Inbound

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(var head):
            // Input after the last answer is not a request.
            if endsWithAnswer { return }
            exchange = Exchange(isHead: head.method == .HEAD, bytesToCome: Self.bodySize(head), isComplete: false)
            if awaitsContinue(head) {
                context.writeAndFlush(
                    wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
            }
            if !head.uri.hasPrefix("/") { head.uri = "!" + head.uri }
            context.fireChannelRead(wrapInboundOut(.head(head)))
        case .body(let part):
            exchange.bytesToCome = exchange.bytesToCome.map { $0 - part.readableBytes }
            guard endsWithAnswer || exchange.isAnswered else { return context.fireChannelRead(data) }
            exchange.bytesAfterAnswer += part.readableBytes
            if exchange.bytesAfterAnswer > Self.remainderLimit, !endsWithAnswer {
                endsWithAnswer = true
                context.close(mode: .output, promise: nil)
            }
        case .end:
            exchange.isComplete = true
            if endsWithAnswer { return }
            linger?.cancel()
            context.fireChannelRead(data)
        }
    }

    /// Stops reading when the limit is exceeded. The socket buffers fill up, and the client has to wait.
    func read(context: ChannelHandlerContext) {
        if exchange.bytesAfterAnswer <= Self.remainderLimit { context.read() }
    }

    /// The size of a request's body in bytes; `nil` if the head has no length.
    private static func bodySize(_ head: HTTPRequestHead) -> Int? {
        if head.headers.contains(name: "transfer-encoding") { return nil }
        return head.headers.first(name: "content-length").map { Int($0) ?? .max } ?? 0
    }

    private func awaitsContinue(_ head: HTTPRequestHead) -> Bool {
        guard head.version == .http1_1, head.headers.first(name: "expect")?.lowercased() == "100-continue" else {
            return false
        }
        let limit = head.uri.hasPrefix("/assets/") ? uploadLimit : Int64(Request.bodyLimit)
        return head.headers.first(name: "content-length").flatMap { Int64($0) }.map { $0 <= limit } ?? true
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is TLSUserEvent { takesFileRegions = false }
        if case .inputClosed? = event as? ChannelEvent { clientLeft() }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        linger?.cancel()
        clientLeft()
        context.fireChannelInactive()
    }

    /// A half-closed connection looks the same as a disconnected client. The request is still answered, but long work
    /// for it is cancelled.
    private func clientLeft() {
        hasClientLeft = true
        for event in exchange.onDisconnect { event.tell() }
        exchange.onDisconnect = []
    }

    // MARK: Outbound

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !exchange.isSecondAnswer else {
            promise?.fail(ChannelError.outputClosed)
            return
        }
        switch unwrapOutboundIn(data) {
        case .head where exchange.isAnswerBegun && !(exchange.isAnswered && exchange.isComplete):
            exchange.isSecondAnswer = true
            endsWithAnswer = true
            promise?.fail(ChannelError.outputClosed)
            end(context, isLast: true)
        case .head(var head) where head.status.code >= 200:
            exchange.isAnswerBegun = true
            head.headers.removeMark()
            // The answer was early. If too much of the body remains, the connection ends instead of reading it.
            if !exchange.isComplete, exchange.bytesToCome ?? 0 > Self.remainderLimit { endsWithAnswer = true }
            if exchange.isHead, head.status.mayHaveResponseBody, !head.headers.contains(name: "content-length") {
                // The encoder would end a body of unknown length with a chunk, but an answer
                // to HEAD has no body. In HTTP/1.0 the end of the connection marks the end.
                head.version = .http1_0
                endsWithAnswer = true
            }
            if endsWithAnswer { head.headers.replaceOrAdd(name: "connection", value: "close") }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .end:
            exchange.isAnswered = true
            let (isLast, isEarly) = (endsWithAnswer, !exchange.isComplete)
            // This write may deliver the next pipelined request before it returns.
            context.write(data, promise: promise)
            if isLast || isEarly { end(context, isLast: isLast) }
        default:
            context.write(data, promise: promise)
        }
    }

    /// Ends the connection after the answer, or limits the time for the rest of the request.
    ///
    /// The rest of the request may still be arriving. Closing at once would reset the connection, and the reset could
    /// overtake the answer. So only the output is closed. The connection ends when the client closes its side, or after
    /// a timeout.
    private func end(_ context: ChannelHandlerContext, isLast: Bool) {
        if isLast {
            context.flush()
            context.close(mode: .output, promise: nil)
        }
        linger = context.eventLoop.assumeIsolated().scheduleTask(in: Self.lingerTime) { context.close(promise: nil) }
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        switch event {
        case is CloseAfterResponse:
            endsWithAnswer = true
            promise?.succeed()
        case let event as OnDisconnect:
            if hasClientLeft { event.tell() } else { exchange.onDisconnect.append(event) }
            promise?.succeed()
        case let file as SentFileRegion:
            file.write(context, promise: promise)
        default:
            context.triggerUserOutboundEvent(event, promise: promise)
        }
    }
}

/// Installs a ``ConnectionGuardHandler`` after the HTTP parser. Hummingbird itself only adds handlers at the end of the
/// pipeline.
///
/// NIO's pipelining handler goes before it and holds back a request until the previous one is answered. Otherwise a
/// refusal would come too late for requests that arrived in the same read. The ``StalledPeerHandler`` is closest to the
/// socket.
final class ConnectionGuardInstaller: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    private let uploadLimit: Int64
    private let patience: TimeAmount

    init(uploadLimit: Int64, patience: TimeAmount) {
        self.uploadLimit = uploadLimit
        self.patience = patience
    }

    func handlerAdded(context: ChannelHandlerContext) {
        do {
            let parser = try context.pipeline.syncOperations.handler(
                type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try context.pipeline.syncOperations.addHandlers(
                [
                    StalledPeerHandler(patience: patience), HTTPServerPipelineHandler(),
                    ConnectionGuardHandler(uploadLimit: uploadLimit),
                ],
                position: .after(parser))
        } catch {
            // Connections without the guard are not served.
            context.fireErrorCaught(error)
            context.close(promise: nil)
        }
    }
}

// MARK: - Stalled clients

/// Closes a connection if output is waiting and the client has accepted none of it for a long time.
///
/// A client that accepts a little now and then is never disconnected, however long an answer takes. So the measure is
/// progress, not the completion of a write: either the pending output shrinks, or the peer acknowledges bytes.
final class StalledPeerHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny
    typealias OutboundIn = NIOAny

    private struct Progress: Equatable {
        let waiting: Int
        /// The number of bytes that the peer has acknowledged; 0 if the system does not report it.
        var acknowledged: UInt64 = 0
    }

    private let patience: TimeAmount
    private var check: Scheduled<Void>?
    private var last = Progress(waiting: 0)
    private var lastChange = NIODeadline.distantPast

    init(patience: TimeAmount) {
        self.patience = patience
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        guard check == nil, case let waiting = Self.waiting(context), waiting > 0 else { return }
        last = Progress(waiting: waiting)
        lastChange = .now()
        schedule(context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        check?.cancel()
        check = nil
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        check?.cancel()
        check = nil
    }

    private func schedule(_ context: ChannelHandlerContext) {
        check = context.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(patience.nanoseconds / 4)) { [self] in
            check = nil
            let waiting = Self.waiting(context)
            guard context.channel.isActive, waiting > 0 else { return }
            Self.acknowledged(context) { [self] acknowledged in
                compare(Progress(waiting: waiting, acknowledged: acknowledged), context)
            }
        }
    }

    private func compare(_ progress: Progress, _ context: ChannelHandlerContext) {
        if progress != last {
            last = progress
            lastChange = .now()
        } else if .now() - lastChange >= patience {
            return context.close(promise: nil)
        }
        if check == nil { schedule(context) }
    }

    private static func waiting(_ context: ChannelHandlerContext) -> Int {
        // The channel is closed, or a test channel. Nothing waits on it.
        (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    }

    /// The number of bytes that the peer has acknowledged since the connection began.
    private static func acknowledged(_ context: ChannelHandlerContext, _ use: @escaping (UInt64) -> Void) {
        #if os(Linux)
            guard let provider = context.channel as? any SocketOptionProvider else { return use(0) }
            let info: EventLoopFuture<LinuxTCPInfo> = provider.unsafeGetSocketOption(level: .tcp, name: .tcp_info)
            // A connection that just ended has no such information.
            info.assumeIsolated().whenComplete { result in use((try? result.get())?.bytesAcknowledged ?? 0) }
        #else
            use(0)
        #endif
    }
}

#if os(Linux)
    /// The kernel's `struct tcp_info` (linux/tcp.h) up to the required field, which the C library's declaration lacks.
    private struct LinuxTCPInfo: Sendable {
        private let before:
            (
                UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64,
                UInt64, UInt64
            )
        /// `tcpi_bytes_acked`; 0 on kernels that do not count them.
        let bytesAcknowledged: UInt64
    }
#endif
