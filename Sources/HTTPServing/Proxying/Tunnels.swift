internal import NIOCore
internal import NIOPosix

/// The hosts of others to which connections are passed on unread, on port 443.
public struct Tunnels: Sendable {
    /// The names in lower case. One that begins with a dot stands for all names that end with it.
    public let names: [String]
    /// Opens a connection that reads nothing yet, on this event loop.
    let connect: @Sendable (String, any EventLoop) -> EventLoopFuture<any Channel>

    private static let connectTime = TimeAmount.seconds(10)

    /// - Parameter names: the names, as in ``names``; none to lead nowhere.
    public init(to names: [String] = []) {
        self.init(to: names) { host, loop in
            ClientBootstrap(group: loop).connectTimeout(Self.connectTime).channelOption(.autoRead, value: false)
                .connect(host: host, port: 443)
        }
    }

    init(to names: [String], connect: @escaping @Sendable (String, any EventLoop) -> EventLoopFuture<any Channel>) {
        (self.names, self.connect) = (names, connect)
    }

    /// The host that an authority such as `www.example.com:443` names; `nil` if no tunnel leads there.
    func host(in authority: String) -> String? {
        guard authority.hasSuffix(":443") else { return nil }
        let host = String(authority.dropLast(4))
        let isName = host.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
        }
        guard isName, names.contains(where: { $0.hasPrefix(".") ? host.hasSuffix($0) : host == $0 }) else { return nil }
        return host
    }
}

/// One end of a tunnel. It passes bytes to the other end as fast as that takes them. Both are on one event loop.
final class TunnelEnd: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The time without a byte in either direction after which a tunnel ends.
    private static let idleTime = TimeAmount.minutes(15)

    private var other: TunnelEnd?
    private var context: ChannelHandlerContext?
    private var isReadPending = false
    private var lastRead = NIODeadline.now()
    private var idleCheck: Scheduled<Void>?

    /// Two ends that belong together.
    static func pair() -> (TunnelEnd, TunnelEnd) {
        let (one, two) = (TunnelEnd(), TunnelEnd())
        (one.other, two.other) = (two, one)
        return (one, two)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        checkLater(in: Self.idleTime)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        idleCheck?.cancel()
        (self.context, other) = (nil, nil)
    }

    // MARK: Bytes

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        lastRead = .now()
        other?.context?.write(data, promise: nil)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        other?.context?.flush()
    }

    /// Reads no more than the other end has taken.
    func read(context: ChannelHandlerContext) {
        if other?.context?.channel.isWritable ?? true { context.read() } else { isReadPending = true }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable, let other, other.isReadPending {
            other.isReadPending = false
            other.context?.read()
        }
        context.fireChannelWritabilityChanged()
    }

    // MARK: The end

    func channelInactive(context: ChannelHandlerContext) {
        other?.end()
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent { other?.end() }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    /// Closes the connection when it has taken all bytes.
    private func end() {
        guard let context else { return }
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
    }

    private func checkLater(in time: TimeAmount) {
        idleCheck = context?.eventLoop.assumeIsolated().scheduleTask(in: time) { [self] in
            let rest = max(lastRead, other?.lastRead ?? lastRead) + Self.idleTime - .now()
            if rest > .zero { checkLater(in: rest) } else { context?.close(promise: nil) }
        }
    }
}
