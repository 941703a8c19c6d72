internal import Hummingbird
internal import NIOCore
internal import NIOHTTP1
internal import NIOTLS

/// Stands between the HTTP/1 parser and Hummingbird, for what can't be done anywhere later.
///
/// - A target in absolute form (`GET http://host/path`) is passed on with a mark in front: the next handler would cut scheme and host off
///   and nobody could tell any more. ``HostGuard`` refuses what does not begin with a slash.
/// - A client that asks first whether it may send its body (`Expect: 100-continue`, as curl does with large ones) is told to go on, unless the
///   body would be refused for its size.
/// - Files are sent from here, see ``SentFileRegion``.
/// - After a refusal that ends the connection nothing more comes in, so that no further request hides in the rest of the refused one.
/// - What is left of a request that is answered already is read for a moment, and no more of it than ``remainderLimit``.
final class ConnectionGuardHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// Sent down the channel before an answer that is to be the last one on its connection.
    struct EndWithAnswer: Sendable {}

    /// Sent down the channel by who works for a client: is told once when the client hangs up, at once when it has.
    struct WhenClientLeaves: Sendable {
        let tell: @Sendable () -> Void
    }

    /// Bytes that are read of a request after its answer: many a client looks at the answer only when it has sent everything.
    static let remainderLimit = 16 << 20
    /// How long a client may take to send that, and to read the answer, before the connection is cut: long enough for one on a busy machine.
    private static let lingerTime = TimeAmount.seconds(30)

    /// The request that is coming in or being answered.
    private struct Exchange {
        var isHead = false
        /// Bytes of the body that are still to come; `nil` where the head doesn't say.
        var rest: Int? = 0
        /// Whether all of the request has come.
        var isComplete = true
        var isAnswered = false
        /// Bytes that came after the answer.
        var remainder = 0
        var whenClientLeaves: [WhenClientLeaves] = []
    }

    private let uploadLimit: Int64
    private var exchange = Exchange()
    private var endsWithAnswer = false
    private var linger: Scheduled<Void>?
    private var hasClientLeft = false
    /// Whether parts of files can be sent without passing through memory: bytes to be encrypted can't.
    private(set) var takesFileRegions = true

    /// - Parameter uploadLimit: bytes that an uploaded asset may have.
    init(uploadLimit: Int64) {
        self.uploadLimit = uploadLimit
    }

    // MARK: In

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(var head):
            // What comes after the last answer is no request any more.
            if endsWithAnswer { return }
            exchange = Exchange(isHead: head.method == .HEAD, rest: Self.bodySize(head), isComplete: false)
            if awaitsContinue(head) {
                context.writeAndFlush(wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
            }
            if !head.uri.hasPrefix("/") { head.uri = "!" + head.uri }
            context.fireChannelRead(wrapInboundOut(.head(head)))
        case .body(let part):
            exchange.rest = exchange.rest.map { $0 - part.readableBytes }
            guard endsWithAnswer || exchange.isAnswered else { return context.fireChannelRead(data) }
            exchange.remainder += part.readableBytes
            if exchange.remainder > Self.remainderLimit, !endsWithAnswer {
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

    /// Where more comes than is read of it, nothing is read: what the system holds for this side fills, and the client waits.
    func read(context: ChannelHandlerContext) {
        if exchange.remainder <= Self.remainderLimit { context.read() }
    }

    /// Bytes of a request's body; `nil` where that shows at its end only.
    private static func bodySize(_ head: HTTPRequestHead) -> Int? {
        if head.headers.contains(name: "transfer-encoding") { return nil }
        return head.headers.first(name: "content-length").map { Int($0) ?? .max } ?? 0
    }

    private func awaitsContinue(_ head: HTTPRequestHead) -> Bool {
        guard head.version == .http1_1, head.headers.first(name: "expect")?.lowercased() == "100-continue" else { return false }
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

    /// A client that only says no more looks the same as one that is gone. It is answered all the same, but nothing long is done for it.
    private func clientLeft() {
        hasClientLeft = true
        for leaving in exchange.whenClientLeaves { leaving.tell() }
        exchange.whenClientLeaves = []
    }

    // MARK: Out

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head) where head.status.code >= 200:
            // The answer came early, and what it does not wait for would be read for nothing.
            if !exchange.isComplete, exchange.rest ?? 0 > Self.remainderLimit { endsWithAnswer = true }
            if exchange.isHead, head.status.mayHaveResponseBody, !head.headers.contains(name: "content-length") {
                // The encoder would end a body of unknown length, which the answer to HEAD doesn't have. In HTTP/1.0 the end of the connection does.
                head.version = .http1_0
                endsWithAnswer = true
            }
            if endsWithAnswer { head.headers.replaceOrAdd(name: "connection", value: "close") }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .end:
            exchange.isAnswered = true
            let (isLast, isEarly) = (endsWithAnswer, !exchange.isComplete)
            // A request that waited behind this one may come in from within.
            context.write(data, promise: promise)
            if isLast || isEarly { end(context, isLast: isLast) }
        default:
            context.write(data, promise: promise)
        }
    }

    /// Ends the connection after the answer, or sees to the rest of the request.
    ///
    /// The rest may still be on its way. Closing at once would reset the connection, and the reset could overtake the answer; so only the sending half
    /// is closed, and the connection ends when the client has closed its side or after a while.
    private func end(_ context: ChannelHandlerContext, isLast: Bool) {
        if isLast {
            context.flush()
            context.close(mode: .output, promise: nil)
        }
        linger = context.eventLoop.assumeIsolated().scheduleTask(in: Self.lingerTime) { context.close(promise: nil) }
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        switch event {
        case is EndWithAnswer:
            endsWithAnswer = true
            promise?.succeed()
        case let leaving as WhenClientLeaves:
            if hasClientLeft { leaving.tell() } else { exchange.whenClientLeaves.append(leaving) }
            promise?.succeed()
        case let file as SentFileRegion:
            file.write(context, promise: promise)
        default:
            context.triggerUserOutboundEvent(event, promise: promise)
        }
    }
}

/// Puts a ``ConnectionGuardHandler`` behind the parser: Hummingbird itself only lets handlers in at the end.
///
/// Before it stands NIO's handler that holds back a request until the one before is answered: without it the parser would pass on in one go
/// what arrived in one go, and a refusal would come too late for what follows. Nearest to the socket stands the ``StalledPeerHandler``.
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
            let parser = try context.pipeline.syncOperations.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try context.pipeline.syncOperations.addHandlers(
                [StalledPeerHandler(patience: patience), HTTPServerPipelineHandler(), ConnectionGuardHandler(uploadLimit: uploadLimit)],
                position: .after(parser))
        } catch {
            // Unguarded connections are not served.
            context.fireErrorCaught(error)
            context.close(promise: nil)
        }
    }
}
