import Foundation
import HTTPServing
import HTTPTypes
import Hummingbird
import LoopbackServing
import NIOCore
import NIOSSL
import TestSupport
import Testing

/// Servers that speak TLS.
@Suite("TLS", .serialized) struct TLSTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func path(_ name: String, _ text: String) throws -> String {
        try folder.write(text, to: name).path(percentEncoded: false)
    }

    private func certificate() throws -> ServerCertificate {
        try ServerCertificate(
            certificateFile: path("cert.pem", TestCertificate.pem), keyFile: path("key.pem", TestCertificate.key))
    }

    private func run(routes: (Routes) -> Void, _ body: (Int) async throws -> Void) async throws {
        let router = Routes()
        router.addGuards(trusting: .loopback, isSecure: true)
        routes(router)
        try await LoopbackServer.run(router, server: try .guardedHTTP1().encrypted(with: certificate()), body)
    }

    private static func serve(_ file: TestFile, size: Int64, on router: Routes) {
        router.get("file") { request, context in
            let opened = try file.open()
            return ServedFile(
                handle: opened.handle, size: size, etag: "a", lastModified: 0, headers: [:], holding: opened
            ).response(to: request, in: context)
        }
    }

    @Test("Files come whole, whatever their size", arguments: [1, 65_536, 65_537, (4 << 20) + 1, 9_000_000])
    func files(size: Int) async throws {
        let file = try TestFile(TestFile.noise(size))
        try await run(routes: { Self.serve(file, size: Int64(size), on: $0) }) { port in
            var bytes: [UInt8] = []
            try await TLSClient.send(FileServer.head("GET", "/file", ["Connection: close"]), port: port) { part in
                bytes += Array(part.readableBytesView)
                return true
            }
            let end = try #require(bytes.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound)
            #expect(bytes[end...].elementsEqual(file.bytes))
            #expect(try await file.isReleased())
        }
    }

    @Test("A slow reader of a large file costs no memory, and lets go of it")
    func slowReader() async throws {
        let file = try TestFile([])
        try FileHandle(forWritingTo: file.url).truncate(atOffset: 1 << 30)
        try await run(routes: { Self.serve(file, size: 1 << 30, on: $0) }) { port in
            let growth = try await Memory.leastPeakGrowth(enough: 48 << 20) {
                var count = 0
                try await TLSClient.send(FileServer.head("GET", "/file"), port: port) { part in
                    count += part.readableBytes
                    try await Task.sleep(for: .milliseconds(2))
                    return count < 8 << 20
                }
                #expect(count >= 8 << 20)
            }
            if let growth { #expect(growth <= 48 << 20) }
            #expect(try await file.isReleased())
        }
    }

    @Test("A fast reader of a large file costs no memory, though to encrypt takes longer than to read")
    func fastReader() async throws {
        let size = 1 << 28
        let file = try TestFile([])
        try FileHandle(forWritingTo: file.url).truncate(atOffset: UInt64(size))
        try await run(routes: { Self.serve(file, size: Int64(size), on: $0) }) { port in
            let growth = try await Memory.leastPeakGrowth(enough: 48 << 20) {
                var count = 0
                try await TLSClient.send(FileServer.head("GET", "/file", ["Connection: close"]), port: port) { part in
                    count += part.readableBytes
                    return true
                }
                #expect(count > size)
            }
            if let growth { #expect(growth <= 48 << 20) }
        }
    }

    @Test("Addresses begin with https, and what is not TLS is no request")
    func scheme() async throws {
        try await run(routes: { $0.get("origin") { request, _ in Response.text(request.ownOrigin) } }) { port in
            var text = ""
            try await TLSClient.send(
                Array("GET /origin HTTP/1.1\r\nHost: localhost:8443\r\nConnection: close\r\n\r\n".utf8), port: port
            ) { part in
                text += String(buffer: part)
                return true
            }
            #expect(text.hasSuffix("https://localhost:8443"))
            try await TestSocket.with(port: port) { socket in
                try socket.send(FileServer.head("GET", "/origin"))
                #expect(!(try socket.read(upTo: 4096)).starts(with: "HTTP".utf8))
            }
        }
    }

    @Test("Files that are not a matching certificate and key are refused with the reason")
    func refused() throws {
        let (certificate, key) = (try path("cert.pem", TestCertificate.pem), try path("key.pem", TestCertificate.key))
        let other = try path("other.pem", TestCertificate.otherKey)
        let encrypted = try path(
            "locked.pem", TestCertificate.key.replacing("PRIVATE KEY", with: "ENCRYPTED PRIVATE KEY"))
        let cases: [(String, String, String, Bool)] = [
            (certificate, other, "does not match the first certificate", false),
            (key, key, "no certificate in PEM form", false),
            (certificate, certificate, "no private key in PEM form", false),
            (certificate, encrypted, "encrypted with a password", false),
            (certificate + "x", key, "can't be read", true), (certificate, key + "x", "can't be read", true),
            (try path("empty.pem", ""), key, "no certificate", false),
            (certificate, try path("text.pem", "text"), "no private key", false),
        ]
        for (certificate, key, words, isMissing) in cases {
            do {
                _ = try ServerCertificate(certificateFile: certificate, keyFile: key)
                Issue.record("\(words) was not said")
            } catch {
                #expect(
                    error.reason.contains(words) && error.isMissingFile == isMissing && !error.remedy.isEmpty,
                    "\(error)")
            }
        }
    }

    @Test("The day is known on which a certificate ends")
    func expiry() throws {
        #expect(try certificate().expiry > Date(timeIntervalSince1970: 4_000_000_000))
    }
}
