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
final class ConnectionGuardHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// Sent down the channel with the refusal.
    struct LetNothingIn: Sendable {}

    private let uploadLimit: Int64
    private var letsNothingIn = false
    /// Whether parts of files can be sent without passing through memory: bytes to be encrypted can't.
    private(set) var takesFileRegions = true

    /// - Parameter uploadLimit: bytes that an uploaded asset may have.
    init(uploadLimit: Int64) {
        self.uploadLimit = uploadLimit
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if letsNothingIn { return }
        guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        if awaitsContinue(head) {
            context.writeAndFlush(wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
        }
        if !head.uri.hasPrefix("/") { head.uri = "!" + head.uri }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    private func awaitsContinue(_ head: HTTPRequestHead) -> Bool {
        guard head.version == .http1_1, head.headers.first(name: "expect")?.lowercased() == "100-continue" else { return false }
        let limit = head.uri.hasPrefix("/assets/") ? uploadLimit : Int64(Request.bodyLimit)
        return head.headers.first(name: "content-length").flatMap { Int64($0) }.map { $0 <= limit } ?? true
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is TLSUserEvent { takesFileRegions = false }
        context.fireUserInboundEventTriggered(event)
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        switch event {
        case is LetNothingIn:
            letsNothingIn = true
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
