internal import Hummingbird
public import HummingbirdCore
internal import HummingbirdTLS
internal import Logging
internal import NIOCore

extension HTTPServerBuilder {
    /// The server of ``guardedHTTP1(uploadLimit:idleTimeout:)`` over TLS, for clients that have the names of other hosts
    /// compiled in. Clients reach it directly, or use it as their proxy (`HTTPS_PROXY`): it leads to these hosts, which
    /// it is itself, and to no other.
    /// - Parameters:
    ///   - hosts: the names, in lower case, without ports.
    ///   - certificate: the certificate of these hosts.
    public static func standingIn(for hosts: [String], with certificate: ServerCertificate, uploadLimit: Int64)
        -> HTTPServerBuilder
    {
        HTTPServerBuilder { responder in
            // Other connections to the same routes are not encrypted, so the guards can't know.
            let http = HTTP1Channel(
                responder: { request, writer, channel in try await responder(request.overTLS, writer, channel) },
                configuration: guardedConfiguration(uploadLimit: uploadLimit))
            return try StandInChannel(
                hosts: hosts, encrypted: TLSChannel(http, tlsConfiguration: certificate.configuration))
        }
    }
}

/// A channel for TLS that may begin with the request for a tunnel.
private struct StandInChannel<Encrypted: ServerChildChannel>: ServerChildChannel {
    let hosts: [String]
    let encrypted: Encrypted

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Encrypted.Value> {
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(TunnelHandler(leadingTo: hosts))
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
    case refused(status: Int, reason: String)

    /// The maximum length of a request, in bytes.
    static let limit = 8 << 10
    /// The first byte of TLS: a record of the handshake.
    private static let handshake: UInt8 = 22

    /// - Parameter hosts: the names, in lower case, without ports.
    init(_ bytes: [UInt8], leadingTo hosts: [String]) {
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
        } else if !hosts.contains(where: { words[1].lowercased() == "\($0):443" }) {
            self = .refused(status: 403, reason: "Skylight leads to \(names) alone")
        } else {
            self = .accepted(length: length)
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

/// Answers the request for a tunnel at the beginning of a connection, then leaves the connection to TLS. A connection
/// that begins with TLS is not changed.
final class TunnelHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The time for the whole request, and for the client to read a refusal.
    private static let patience = TimeAmount.seconds(10)

    private enum State {
        case beginning
        case leading
        case refusing
    }

    private let hosts: [String]
    private var state = State.beginning
    private var received: [UInt8] = []
    private var deadline: Scheduled<Void>?

    init(leadingTo hosts: [String]) {
        self.hosts = hosts
    }

    func handlerAdded(context: ChannelHandlerContext) {
        deadline = context.eventLoop.assumeIsolated().scheduleTask(in: Self.patience) { context.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch state {
        case .leading: context.fireChannelRead(data)
        case .refusing: break
        case .beginning:
            received += unwrapInboundIn(data).readableBytesView
            switch TunnelRequest(received, leadingTo: hosts) {
            case .incomplete: break
            case .encrypted: lead(context, after: 0)
            case .accepted(let length):
                let answer = context.channel.allocator.buffer(string: "HTTP/1.1 200 Connection established\r\n\r\n")
                context.writeAndFlush(wrapOutboundOut(answer), promise: nil)
                lead(context, after: length)
            case .refused(let status, let reason): refuse(context, status, reason)
            }
        }
    }

    /// Passes on what came after the request, and all that comes later.
    private func lead(_ context: ChannelHandlerContext, after length: Int) {
        state = .leading
        let rest = received[length...]
        received = []
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
