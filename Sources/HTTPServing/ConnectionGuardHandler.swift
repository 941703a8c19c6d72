internal import Hummingbird
internal import NIOCore
internal import NIOHTTP1

/// Stands between the HTTP/1 parser and Hummingbird, for what can't be done anywhere later.
///
/// - A target in absolute form (`GET http://host/path`) is passed on with a mark in front: the next handler would cut scheme and host off
///   and nobody could tell any more. ``HostGuard`` refuses what does not begin with a slash.
/// - A client that asks first whether it may send its body (`Expect: 100-continue`, as curl does with large ones) is told to go on, unless the
///   body would be refused for its size.
/// - After a refusal that ends the connection nothing more comes in, so that no further request hides in the rest of the refused one.
final class ConnectionGuardHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// Sent down the channel with the refusal.
    struct LetNothingIn: Sendable {}

    private var letsNothingIn = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if letsNothingIn { return }
        guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        if Self.awaitsContinue(head) {
            context.writeAndFlush(wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
        }
        if !head.uri.hasPrefix("/") { head.uri = "!" + head.uri }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    private static func awaitsContinue(_ head: HTTPRequestHead) -> Bool {
        guard head.version == .http1_1, head.headers.first(name: "expect")?.lowercased() == "100-continue" else { return false }
        return head.headers.first(name: "content-length").flatMap { Int($0) }.map { $0 <= Request.bodyLimit } ?? true
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard event is LetNothingIn else { return context.triggerUserOutboundEvent(event, promise: promise) }
        letsNothingIn = true
        promise?.succeed()
    }
}

/// Puts a ``ConnectionGuardHandler`` behind the parser: Hummingbird itself only lets handlers in at the end.
///
/// Before it stands NIO's handler that holds back a request until the one before is answered: without it the parser would pass on in one go
/// what arrived in one go, and a refusal would come too late for what follows.
final class ConnectionGuardInstaller: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    func handlerAdded(context: ChannelHandlerContext) {
        do {
            let parser = try context.pipeline.syncOperations.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try context.pipeline.syncOperations.addHandlers(
                [HTTPServerPipelineHandler(), ConnectionGuardHandler()], position: .after(parser))
        } catch {
            // Unguarded connections are not served.
            context.fireErrorCaught(error)
            context.close(promise: nil)
        }
    }
}
