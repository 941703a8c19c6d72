internal import NIOCore
internal import NIOHTTP1

/// Stands between the HTTP/1 parser and Hummingbird, for what can't be done anywhere later.
///
/// - A target in absolute form (`GET http://host/path`) is passed on with a mark in front: the next handler would cut scheme and host off
///   and nobody could tell any more. ``HostGuard`` refuses what does not begin with a slash.
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
        guard case .head(var head) = unwrapInboundIn(data), !head.uri.hasPrefix("/") else { return context.fireChannelRead(data) }
        head.uri = "!" + head.uri
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard event is LetNothingIn else { return context.triggerUserOutboundEvent(event, promise: promise) }
        letsNothingIn = true
        promise?.succeed()
    }
}

/// Puts a ``ConnectionGuardHandler`` behind the parser: Hummingbird itself only lets handlers in at the end.
final class ConnectionGuardInstaller: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    func handlerAdded(context: ChannelHandlerContext) {
        do {
            let parser = try context.pipeline.syncOperations.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try context.pipeline.syncOperations.addHandler(ConnectionGuardHandler(), position: .after(parser))
        } catch {
            // Unguarded connections are not served.
            context.fireErrorCaught(error)
            context.close(promise: nil)
        }
    }
}
