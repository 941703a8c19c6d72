internal import Hummingbird
public import HummingbirdCore
internal import HummingbirdTLS
internal import Logging
internal import NIOCore

extension HTTPServerBuilder {
    /// The server of ``guardedHTTP1(uploadLimit:idleTimeout:)`` over TLS, for clients that have the names of other hosts
    /// compiled in. Clients reach it directly, or use it as their proxy (`HTTPS_PROXY`): it leads to these hosts, which
    /// it is itself, to those of its tunnels, and to no other.
    /// - Parameters:
    ///   - hosts: the names, in lower case, without ports.
    ///   - certificate: the certificate of these hosts.
    public static func standingIn(
        for hosts: [String], with certificate: ServerCertificate, uploadLimit: Int64, tunnels: Tunnels = Tunnels()
    ) -> HTTPServerBuilder {
        HTTPServerBuilder { responder in
            // Other connections to the same routes are not encrypted, so the guards can't know.
            let http = EventLoopChannel(
                HTTP1Channel(
                    responder: { request, writer, channel in try await responder(request.overTLS, writer, channel) },
                    configuration: guardedConfiguration(uploadLimit: uploadLimit)))
            return try StandInChannel(
                hosts: hosts, tunnels: tunnels, encrypted: TLSChannel(http, tlsConfiguration: certificate.configuration)
            )
        }
    }
}

/// A channel for TLS that may begin with the request for a tunnel.
private struct StandInChannel<Encrypted: ServerChildChannel>: ServerChildChannel {
    let hosts: [String]
    let tunnels: Tunnels
    let encrypted: Encrypted

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Encrypted.Value> {
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(TunnelHandler(leadingTo: hosts, tunnels))
        }.flatMap {
            encrypted.setup(channel: channel, logger: logger)
        }
    }

    func handle(value: Encrypted.Value, logger: Logger) async {
        await encrypted.handle(value: value, logger: logger)
    }
}

// MARK: - Tunnels

/// What a connection begins with.
enum TunnelRequest: Equatable {
    /// TLS, without a tunnel.
    case encrypted
    /// The first bytes of a request for a tunnel.
    case incomplete
    /// A request for a tunnel to a host that the server stands in for.
    /// - Parameter length: the number of its bytes.
    case accepted(length: Int)
    /// A request for a tunnel to a host of ``Tunnels``.
    case elsewhere(host: String, length: Int)
    case refused(status: Int, reason: String)

    /// The maximum length of a request, in bytes.
    static let limit = 8 << 10
    /// The first byte of TLS: a record of the handshake.
    private static let handshake: UInt8 = 22

    /// - Parameter hosts: the names, in lower case, without ports.
    init(_ bytes: [UInt8], leadingTo hosts: [String], _ tunnels: Tunnels = Tunnels()) {
        guard let first = bytes.first else {
            self = .incomplete
            return
        }
        guard first != Self.handshake else {
            self = .encrypted
            return
        }
        let names = hosts.joined(separator: ", ")
        guard (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first) else {
            self = .refused(status: 400, reason: "This port takes TLS and CONNECT")
            return
        }
        guard let length = Self.headLength(bytes) else {
            self =
                bytes.count < Self.limit
                ? .incomplete : .refused(status: 431, reason: "The request for a tunnel is too long")
            return
        }
        let line = bytes.prefix { $0 != UInt8(ascii: "\r") }
        let words = String(decoding: line, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
        if words.count != 3 || !words[2].hasPrefix("HTTP/1.") {
            self = .refused(status: 400, reason: "This is no request of HTTP/1.1")
        } else if words[0] != "CONNECT" {
            self = .refused(status: 400, reason: "This port answers for \(names) over TLS and CONNECT alone")
        } else if hosts.contains(where: { words[1].lowercased() == "\($0):443" }) {
            self = .accepted(length: length)
        } else if let host = tunnels.host(in: words[1].lowercased()) {
            self = .elsewhere(host: host, length: length)
        } else {
            let all = (hosts + tunnels.names).joined(separator: ", ")
            self = .refused(status: 403, reason: "Skylight leads to \(all) alone")
        }
    }

    /// The length of a request until the empty line at its end; `nil` without one.
    private static func headLength(_ bytes: [UInt8]) -> Int? {
        let (cr, lf) = (UInt8(ascii: "\r"), UInt8(ascii: "\n"))
        var index = 3
        while index < bytes.count {
            if bytes[index] == lf, bytes[index - 1] == cr, bytes[index - 2] == lf, bytes[index - 3] == cr {
                return index + 1
            }
            index += 1
        }
        return nil
    }
}

/// Answers the request for a tunnel at the beginning of a connection, then leaves the connection to TLS, or to the other
/// end of the tunnel. A connection that begins with TLS is not changed.
///
/// The other handlers see the connection when it becomes theirs. Until then they wait for nothing.
final class TunnelHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The time for the whole request, and for the client to read a refusal.
    private static let patience = TimeAmount.seconds(10)

    private enum State {
        case beginning
        case leading
        /// To a host of others.
        case connecting
        case connected
        case refusing
    }

    private let hosts: [String]
    private let tunnels: Tunnels
    private var state = State.beginning
    private var received: [UInt8] = []
    private var deadline: Scheduled<Void>?
    /// True if the other handlers do not know yet that the connection is active.
    private var holdsActivity = false

    init(leadingTo hosts: [String], _ tunnels: Tunnels = Tunnels()) {
        (self.hosts, self.tunnels) = (hosts, tunnels)
    }

    func handlerAdded(context: ChannelHandlerContext) { startDeadline(context) }

    private func startDeadline(_ context: ChannelHandlerContext) {
        deadline = context.eventLoop.assumeIsolated().scheduleTask(in: Self.patience) { context.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
    }

    func channelActive(context: ChannelHandlerContext) {
        if state == .leading { context.fireChannelActive() } else { holdsActivity = true }
    }

    /// Nothing more is read until the other end is there.
    func read(context: ChannelHandlerContext) {
        if state != .connecting { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch state {
        case .leading: context.fireChannelRead(data)
        case .refusing, .connected: break
        case .connecting: received += unwrapInboundIn(data).readableBytesView
        case .beginning:
            received += unwrapInboundIn(data).readableBytesView
            switch TunnelRequest(received, leadingTo: hosts, tunnels) {
            case .incomplete: break
            case .encrypted: lead(context, after: 0)
            case .accepted(let length):
                accept(context)
                lead(context, after: length)
            case .elsewhere(let host, let length): connect(context, to: host, after: length)
            case .refused(let status, let reason): refuse(context, status, reason)
            }
        }
    }

    private func accept(_ context: ChannelHandlerContext) {
        let answer = context.channel.allocator.buffer(string: "HTTP/1.1 200 Connection established\r\n\r\n")
        context.writeAndFlush(wrapOutboundOut(answer), promise: nil)
    }

    /// Connects to a host of others, and passes on what came after the request, and all that comes later.
    private func connect(_ context: ChannelHandlerContext, to host: String, after length: Int) {
        state = .connecting
        deadline?.cancel()
        received.removeFirst(length)
        tunnels.connect(host, context.eventLoop).assumeIsolated().whenComplete { [self] result in
            guard case .success(let channel) = result else {
                startDeadline(context)
                return refuse(context, 502, "There is no connection to \(host)")
            }
            guard context.channel.isActive else { return channel.close(promise: nil) }
            do {
                let (near, far) = TunnelEnd.pair()
                try channel.pipeline.syncOperations.addHandler(far)
                accept(context)
                try context.pipeline.syncOperations.addHandler(near, position: .before(self))
                state = .connected
                if !received.isEmpty {
                    channel.writeAndFlush(channel.allocator.buffer(bytes: received), promise: nil)
                    received = []
                }
                try channel.syncOptions?.setOption(.autoRead, value: true)
                context.read()
            } catch {
                channel.close(promise: nil)
                context.close(promise: nil)
            }
        }
    }

    /// Passes on what came after the request, and all that comes later.
    private func lead(_ context: ChannelHandlerContext, after length: Int) {
        state = .leading
        let rest = received[length...]
        received = []
        if holdsActivity { context.fireChannelActive() }
        if !rest.isEmpty { context.fireChannelRead(wrapInboundOut(context.channel.allocator.buffer(bytes: rest))) }
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    /// The reason is in the first line, because clients show that one of a proxy's answer.
    private func refuse(_ context: ChannelHandlerContext, _ status: Int, _ reason: String) {
        state = .refusing
        received = []
        let answer =
            "HTTP/1.1 \(status) \(reason)\r\nContent-Type: text/plain; charset=utf-8\r\n"
            + "Content-Length: \(reason.utf8.count + 1)\r\nConnection: close\r\n\r\n\(reason)\n"
        context.writeAndFlush(wrapOutboundOut(context.channel.allocator.buffer(string: answer)), promise: nil)
        // Closing the input too could reset the connection before the client has read the answer.
        context.close(mode: .output, promise: nil)
    }
}
