import Foundation
import NIOCore
import NIOEmbedded
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
