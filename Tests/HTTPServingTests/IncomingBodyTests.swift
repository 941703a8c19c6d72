import Foundation
import HTTPServing
import Hummingbird
import NIOCore
import TestSupport
import Testing

/// Bodies of requests, with and without a coding.
@Suite("Incoming bodies", .serialized)
struct IncomingBodyTests {
    private static let limit = 1_000_000
    /// Ten gigabytes of zeroes, compressed.
    private static let bomb: Result<[UInt8], any Error> = Result {
        let gigabyte = try Gzip.zeroes(restoringTo: 1 << 30)
        return (0..<10).flatMap { _ in gigabyte }
    }

    /// A server that sends back what it takes: `/held` in one piece, `/streamed` piece by piece.
    private static func run(limit: Int = limit, _ body: @Sendable (FileServer) async throws -> Void) async throws {
        try await FileServer.run(
            uploadLimit: Int64(limit),
            routes: { router in
                router.post("held") { request, _ in
                    Response.content(try await request.bodyBytes(limit: limit), type: "application/octet-stream")
                }
                router.post("streamed") { request, _ in
                    var bytes: [UInt8] = []
                    for try await part in request.decodedBody(limit: Int64(limit)) {
                        #expect(part.readableBytes > 0)
                        bytes += part.readableBytesView
                    }
                    return Response.content(bytes, type: "application/octet-stream")
                }
            }, body)
    }

    private static func send(
        _ body: [UInt8], to path: String, coding: String?, chunked: Bool = false, of server: FileServer
    ) async throws -> Answer {
        let coding = coding.map { ["Content-Encoding: \($0)"] } ?? []
        if !chunked {
            return try await server.answer("POST", path, coding + ["Content-Length: \(body.count)"], body: body)
        }
        var chunks: [UInt8] = []
        for start in stride(from: 0, to: body.count, by: 1000) {
            let part = body[start..<min(start + 1000, body.count)]
            chunks += Array((String(part.count, radix: 16) + "\r\n").utf8) + part + [13, 10]
        }
        return try await server.answer(
            "POST", path, coding + ["Transfer-Encoding: chunked"], body: chunks + Array("0\r\n\r\n".utf8))
    }

    @Test("A body arrives complete in every coding and framing", arguments: ["/held", "/streamed"], [false, true])
    func arrives(path: String, chunked: Bool) async throws {
        try await Self.run { server in
            for size in [0, 1, 65_535, 65_536, 65_537, Self.limit] {
                let bytes = TestFile.noise(size / 2) + [UInt8](repeating: 7, count: size - size / 2)
                #expect(try await Self.send(bytes, to: path, coding: nil, chunked: chunked, of: server).body == bytes)
                #expect(
                    try await Self.send(bytes, to: path, coding: "identity", chunked: chunked, of: server).body == bytes
                )
                for coding in ["gzip", "x-gzip", "GZIP"] {
                    let answer = try await Self.send(
                        try Gzip.compress(bytes), to: path, coding: coding, chunked: chunked, of: server)
                    #expect(answer.status == 200)
                    #expect(answer.body == bytes)
                }
                // Concatenated gzip members form one body.
                let two =
                    try Gzip.compress(Array(bytes.prefix(size / 3))) + Gzip.compress(Array(bytes.dropFirst(size / 3)))
                #expect(try await Self.send(two, to: path, coding: "gzip", chunked: chunked, of: server).body == bytes)
            }
            // An empty body is not damaged.
            #expect(try await Self.send([], to: path, coding: "gzip", chunked: chunked, of: server).status == 200)
        }
    }

    @Test("A damaged body is refused", arguments: ["/held", "/streamed"])
    func damaged(path: String) async throws {
        let whole = try Gzip.compress(TestFile.noise(200_000))
        var flipped = whole
        flipped[whole.count / 2] ^= 1
        var wrongSum = whole
        wrongSum[whole.count - 6] ^= 1
        let bodies: [(String, [UInt8])] = [
            ("cut off in the header", Array(whole.prefix(5))),
            ("cut off in the middle", Array(whole.prefix(100_000))),
            ("cut off before the checksum", Array(whole.dropLast(8))),
            ("cut off in the checksum", Array(whole.dropLast())),
            ("a flipped bit", flipped),
            ("a wrong checksum", wrongSum),
            ("no gzip at all", Array("hello, world".utf8)),
            ("more behind it", whole + [1, 2, 3]),
            ("a second one cut off", whole + Array(whole.prefix(100))),
        ]
        try await Self.run { server in
            for (what, body) in bodies {
                let answer = try await Self.send(body, to: path, coding: "gzip", of: server)
                #expect(answer.status == 400, "\(what)")
                #expect(answer.text.contains("gzip"), "\(what)")
            }
        }
    }

    @Test(
        "Other codings are refused, with the one that is understood", arguments: ["/held", "/streamed"],
        ["br", "deflate", "zstd", "gzip, gzip", "gzip, br"])
    func codings(path: String, coding: String) async throws {
        try await Self.run { server in
            let answer = try await Self.send([1, 2, 3], to: path, coding: coding, of: server)
            #expect(answer.status == 415)
            #expect(answer["accept-encoding"] == "gzip")
        }
    }

    @Test("A too large body is refused", arguments: ["/held", "/streamed"])
    func tooLarge(path: String) async throws {
        try await Self.run { server in
            let over = TestFile.noise(Self.limit + 1)
            for chunked in [false, true] {
                #expect(try await Self.send(over, to: path, coding: nil, chunked: chunked, of: server).status == 413)
                let zeroes = try Gzip.compress([UInt8](repeating: 0, count: Self.limit + 1))
                #expect(
                    try await Self.send(zeroes, to: path, coding: "gzip", chunked: chunked, of: server).status == 413)
                // Too many gzip members without content.
                let nothing = try Gzip.compress([])
                let much = (0..<(2 * Self.limit / nothing.count)).flatMap { _ in nothing }
                #expect(try await Self.send(much, to: path, coding: "gzip", chunked: chunked, of: server).status == 413)
            }
            // A body whose declared size is too large is refused immediately.
            for size in ["\(Self.limit + 1)", "9223372036854775807", "9223372036854775808"] {
                let announced = try await server.answer("POST", path, ["Content-Length: \(size)"])
                #expect(announced.status == 413, "\(size)")
            }
        }
    }

    @Test("The largest limit there is does no harm", arguments: [nil, "gzip"])
    func unlimited(coding: String?) async throws {
        try await Self.run(limit: .max) { server in
            let bytes = TestFile.noise(100_000)
            let body = coding == nil ? bytes : try Gzip.compress(bytes)
            for chunked in [false, true] {
                #expect(
                    try await Self.send(body, to: "/streamed", coding: coding, chunked: chunked, of: server).body
                        == bytes)
            }
        }
    }

    #if os(Linux)
        @Test("Readers see the memory that is taken and freed")
        func meter() async throws {
            // One attempt per round, because other tests may free memory or reset the mark and so hide the growth.
            try await eventually {
                let growth = try await Memory.leastPeakGrowth(enough: 1 << 40) {
                    #expect([UInt8](repeating: 1, count: 128 << 20).last == 1)
                }
                return try #require(growth) > 64 << 20
            }
        }
    #endif

    @Test(
        "Ten megabytes that would be ten gigabytes are refused at once and cost no memory",
        arguments: ["/held", "/streamed"])
    func bomb(path: String) async throws {
        let bomb = try Self.bomb.get()
        #expect(bomb.count > 10_000_000)
        try await FileServer.run(routes: { router in
            router.post("held") { request, _ in Response.text("\(try await request.bodyBytes(limit: 32 << 20).count)") }
            router.post("streamed") { request, _ in
                var count = 0
                for try await part in request.decodedBody(limit: 50 << 20) { count += part.readableBytes }
                return Response.text("\(count)")
            }
        }) { server in
            _ = try await server.answer("POST", path, ["Content-Length: 1"], body: [1])
            let growth = try await Memory.leastPeakGrowth(enough: 24 << 20) {
                try await TestSocket.with(port: server.port) { socket in
                    try socket.send(
                        FileServer.head("POST", path, ["Content-Encoding: gzip", "Content-Length: \(bomb.count)"]))
                    // A small part suffices for the answer: fifty thousand compressed bytes expand to fifty megabytes.
                    try socket.send(Array(bomb.prefix(200_000)))
                    #expect(try socket.readAnswer().status == 413)
                }
            }
            // Storing the decompressed data would take 50 MB.
            if let growth { #expect(growth <= 24 << 20) }
        }
    }

    @Test(
        "Expect: 100-continue is answered if the body would be accepted",
        arguments: [
            ("/assets/upload", 40 << 20, [100, 404]), ("/assets/upload", (64 << 20) + 1, [404]),
            ("/held", 1000, [100, 200]), ("/held", 80 << 20, [413]),
        ])
    func expectation(path: String, size: Int, statuses: [Int]) async throws {
        try await Self.run(limit: 64 << 20) { server in
            try await TestSocket.with(port: server.port) { socket in
                try socket.send(
                    FileServer.head(
                        "POST", path, ["Expect: 100-continue", "Content-Length: \(size)", "Connection: close"]))
                let first = try socket.readAnswer()
                #expect(first.status == statuses[0])
                guard first.status == 100 else { return }
                if statuses[1] == 200 { try socket.send([UInt8](repeating: 1, count: size)) }
                #expect(try socket.readHead().status == statuses[1])
            }
        }
    }

    @Test("A body that was read can be read again, without its coding")
    func replaced() async throws {
        try await FileServer.run(routes: { router in
            router.post("twice") { request, _ in
                var request = request
                request.replaceBody(with: try await request.bodyBytes())
                return Response.text(String(decoding: try await request.bodyBytes(), as: UTF8.self))
            }
        }) { server in
            let body = try Gzip.compress(Array("twice".utf8))
            #expect(try await Self.send(body, to: "/twice", coding: "gzip", of: server).text == "twice")
        }
    }
}
