import Foundation
import NIOCore
import NIOEmbedded
import NIOPosix
import Testing

@testable import HTTPServing

/// A server for clients that have the names of other hosts compiled in.
@Suite struct StandInTests {
    private static let hosts = ["api.example.com", "b.example"]
    private static let tunnel = "CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n"

    private func read(_ text: String) -> TunnelRequest { TunnelRequest(Array(text.utf8), leadingTo: Self.hosts) }

    @Test(
        "A tunnel leads to the server's hosts",
        arguments: [
            tunnel, "CONNECT API.example.com:443 HTTP/1.0\r\n\r\n", "CONNECT b.example:443 HTTP/1.1\r\nA: b\r\n\r\n",
        ])
    func accepted(text: String) {
        #expect(read(text) == .accepted(length: text.utf8.count))
        #expect(read(text + "\u{16}more\r\n\r\n") == .accepted(length: text.utf8.count))
        for length in 0..<text.utf8.count {
            #expect(read(String(decoding: text.utf8.prefix(length), as: UTF8.self)) == .incomplete, "\(length)")
        }
    }

    @Test(
        "It leads nowhere else, and refuses what is no request for one",
        arguments: [
            ("CONNECT www.example.com:443 HTTP/1.1\r\n\r\n", 403), ("CONNECT api.example.com:80 HTTP/1.1\r\n\r\n", 403),
            ("CONNECT api.example.com HTTP/1.1\r\n\r\n", 403), ("CONNECT xapi.example.com:443 HTTP/1.1\r\n\r\n", 403),
            ("CONNECT api.example.com:443@evil.example:443 HTTP/1.1\r\n\r\n", 403),
            ("CONNECT \u{0}\u{fffd}:443 HTTP/1.1\r\n\r\n", 403), ("CONNECT  HTTP/1.1\r\n\r\n", 403),
            ("GET / HTTP/1.1\r\n\r\n", 400), ("GET http://api.example.com/ HTTP/1.1\r\n\r\n", 400),
            ("CONNECT api.example.com:443\r\n\r\n", 400), ("CONNECT a b HTTP/1.1\r\n\r\n", 400), ("X\r\n\r\n", 400),
            ("\r\n", 400), ("connect", 400), ("\u{0}", 400), (String(repeating: "A", count: 8 << 10), 431),
        ])
    func refused(text: String, status: Int) {
        guard case .refused(let sent, let reason) = read(text) else {
            Issue.record("\(text.debugDescription) was not refused")
            return
        }
        // The reason stands in the first line of the answer.
        #expect(sent == status && !reason.isEmpty && !reason.contains("\n"))
    }

    @Test("Any bytes have an answer")
    func anyBytes() {
        for _ in 0..<2_000 {
            let noise = (0..<Int.random(in: 0...60)).map { _ in UInt8.random(in: .min ... .max) }
            _ = TunnelRequest(noise, leadingTo: Self.hosts)
            _ = TunnelRequest(Array("CONNECT ".utf8) + noise + Array("\r\n\r\n".utf8), leadingTo: Self.hosts)
        }
        #expect(TunnelRequest([22, 3, 1], leadingTo: Self.hosts) == .encrypted)
    }

    @Test("What follows the request for a tunnel is left to TLS, however it arrives", arguments: [1, 7, 1_000])
    func parts(size: Int) throws {
        for (begin, answer) in [(Self.tunnel, "HTTP/1.1 200 Connection established\r\n\r\n"), ("", "")] {
            let channel = EmbeddedChannel(handler: TunnelHandler(leadingTo: Self.hosts))
            let bytes = Array("\(begin)\u{16}hello".utf8)
            for start in stride(from: 0, to: bytes.count, by: size) {
                try channel.writeInbound(ByteBuffer(bytes: bytes[start..<min(start + size, bytes.count)]))
            }
            var said = ByteBuffer()
            while var part = try channel.readOutbound(as: ByteBuffer.self) { said.writeBuffer(&part) }
            var passed = ByteBuffer()
            while var part = try channel.readInbound(as: ByteBuffer.self) { passed.writeBuffer(&part) }
            #expect(String(buffer: said) == answer && String(buffer: passed) == "\u{16}hello")
            _ = try channel.finish()
        }
    }

    @Test("A connection that asks for nothing is closed")
    func silence() throws {
        let channel = EmbeddedChannel(handler: TunnelHandler(leadingTo: Self.hosts))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        try channel.writeInbound(ByteBuffer(string: "CONN"))
        channel.embeddedEventLoop.advanceTime(by: .seconds(11))
        #expect(!channel.isActive)
    }

    // MARK: Hosts of others

    private static let tunnels = Tunnels(to: [".files.example", "courier.example"])

    @Test(
        "Tunnels lead to the hosts that they name, and to no others",
        arguments: [
            ("courier.example:443", "courier.example"), ("a.b.files.example:443", "a.b.files.example"),
            ("files.example:443", nil), ("xcourier.example:443", nil), ("courier.example:22", nil),
            ("evil.example/.files.example:443", nil), ("user@a.files.example:443", nil), (".files.example", nil),
        ])
    func named(authority: String, host: String?) {
        #expect(Self.tunnels.host(in: authority) == host)
        let request = "CONNECT \(authority) HTTP/1.1\r\n\r\n"
        switch TunnelRequest(Array(request.utf8), leadingTo: Self.hosts, Self.tunnels) {
        case .elsewhere(let found, let length): #expect(found == host && length == request.utf8.count)
        case .refused(403, let reason): #expect(host == nil && reason.contains("courier.example"))
        case let other: Issue.record("\(other)")
        }
    }

    /// Returns each byte that it gets, and closes the connection after a number of them.
    private final class Echo: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private var left: Int

        init(_ count: Int) { left = count }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            left -= unwrapInboundIn(data).readableBytes
            let written = context.eventLoop.makePromise(of: Void.self)
            context.writeAndFlush(data, promise: written)
            if left == 0 { written.futureResult.assumeIsolated().whenComplete { _ in context.close(promise: nil) } }
        }
    }

    @Test("A tunnel passes all bytes on in both directions, and ends with the connection behind it")
    func passed() async throws {
        let (group, count) = (MultiThreadedEventLoopGroup.singleton, 8 << 20)
        let echo = try await ServerBootstrap(group: group).childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Echo(count)) }
        }.bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(echo.localAddress?.port)
        let tunnels = Tunnels(to: ["courier.example"]) { _, loop in
            ClientBootstrap(group: loop).channelOption(.autoRead, value: false).connect(host: "127.0.0.1", port: port)
        }
        let server = try await ServerBootstrap(group: group).childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(TunnelHandler(leadingTo: Self.hosts, tunnels))
            }
        }.bind(host: "127.0.0.1", port: 0).get()
        let client = try await ClientBootstrap(group: group).connect(
            host: "127.0.0.1", port: try #require(server.localAddress?.port)
        ) { channel in
            channel.eventLoop.makeCompletedFuture {
                try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
            }
        }
        try await client.executeThenClose { inbound, outbound in
            // The first bytes come with the request.
            try await outbound.write(ByteBuffer(string: "CONNECT courier.example:443 HTTP/1.1\r\n\r\nhello"))
            async let sent: Void = {
                for _ in 0..<((count - 5) / 65_535) {
                    try await outbound.write(ByteBuffer(repeating: 7, count: 65_535))
                }
                try await outbound.write(ByteBuffer(repeating: 7, count: (count - 5) % 65_535))
            }()
            var received = ByteBuffer()
            for try await part in inbound { received.writeImmutableBuffer(part) }
            try await sent
            let answer = "HTTP/1.1 200 Connection established\r\n\r\n"
            #expect(received.readString(length: answer.utf8.count) == answer)
            #expect(received.readString(length: 5) == "hello" && received.readableBytes == count - 5)
            #expect(received.readableBytesView.allSatisfy { $0 == 7 })
        }
        try await server.close()
        try await echo.close()
    }

    @Test("A host that is not reached is an answer")
    func unreached() throws {
        let tunnels = Tunnels(to: ["courier.example"]) { _, loop in loop.makeFailedFuture(ChannelError.eof) }
        let channel = EmbeddedChannel(handler: TunnelHandler(leadingTo: Self.hosts, tunnels))
        try channel.writeInbound(ByteBuffer(string: "CONNECT courier.example:443 HTTP/1.1\r\n\r\n"))
        let said = try #require(try channel.readOutbound(as: ByteBuffer.self))
        #expect(String(buffer: said).hasPrefix("HTTP/1.1 502 There is no connection to courier.example\r\n"))
        _ = try? channel.finish()
    }

    // MARK: The authority

    @Test("An authority is the same after it was stored, and so is its server's key")
    func stored() throws {
        let made = try CertificateAuthority(for: Self.hosts)
        let opened = try #require(
            CertificateAuthority(for: Self.hosts, certificate: made.certificate, privateKey: made.privateKey))
        #expect(try opened.serverKeyHash == made.serverKeyHash)
        #expect(abs(opened.expiry.timeIntervalSince(made.expiry)) < 2)
        let server = try opened.serverCertificate()
        #expect(server.expiry > Date() + 700 * 86_400 && server.expiry < opened.expiry)
    }

    @Test("What is no authority is not opened, nor one that has expired")
    func unusable() throws {
        let (made, other) = (
            try CertificateAuthority(for: Self.hosts), try CertificateAuthority(for: Self.hosts)
        )
        func opens(_ certificate: String, _ key: String, _ now: Date = Date()) -> Bool {
            CertificateAuthority(for: Self.hosts, certificate: certificate, privateKey: key, now: now) != nil
        }
        #expect(opens(made.certificate, made.privateKey))
        #expect(!opens(made.certificate, other.privateKey) && !opens(made.privateKey, made.certificate))
        #expect(!opens("", made.privateKey) && !opens(made.certificate, ""))
        #expect(!opens(made.certificate, made.privateKey, made.expiry))
        // A clock beyond 2049 has no effect but on the dates.
        _ = try CertificateAuthority(for: Self.hosts, now: Date(timeIntervalSince1970: 2_600_000_000))
            .serverCertificate(now: Date(timeIntervalSince1970: 2_600_000_000))
    }

    // MARK: Guards

    @Test("The name of another host is trusted over TLS alone")
    func othersHosts() {
        var sites = TrustedSites.loopback
        #expect(!sites.standIn(for: "api.example.com"))
        sites.othersHosts = Self.hosts
        #expect(sites.standIn(for: "api.example.com") && sites.standIn(for: "API.example.com:8443"))
        #expect(!sites.standIn(for: "www.api.example.com") && !sites.standIn(for: "127.0.0.1"))
        // Plain connections ask this alone.
        #expect(!sites.trusts(authority: "api.example.com") && !sites.trusts(origin: "https://api.example.com"))
    }
}
