import Foundation
import HTTPServing
import HTTPTypes
import Hummingbird
import NIOCore
import Testing

/// Accept-Encoding, and compression during sending.
@Suite("Outgoing codings")
struct OutgoingCodingTests {
    @Test(
        "What a client says is weighed as it says it",
        arguments: [
            (nil, 0, false, false), ("", 0, false, false), ("gzip", 1, true, false), ("GZip", 1, true, false),
            ("x-gzip", 1, true, false),
            ("gzip;q=0.5", 0.5, true, false), ("gzip; q=0.5 , br", 0.5, true, false), ("gzip;q=0", 0, false, false),
            ("gzip;q=0.000", 0, false, false),
            ("*", 1, true, false), ("*;q=0.1", 0.1, true, false), ("*;q=0", 0, false, false),
            ("gzip;q=0, *", 0, false, false),
            ("identity", 0, false, false), ("identity, gzip", 1, true, false),
            ("identity;q=1, gzip;q=0.5", 0.5, false, false),
            ("identity;q=0.5, gzip;q=1", 1, true, false), ("gzip, identity;q=0", 1, true, true),
            ("gzip;q=0.1, *;q=0", 0.1, true, true),
            ("*;q=0, identity", 0, false, false), ("br, *;q=0", 0, false, false), ("identity;q=0", 0, false, false),
            ("identity;q=0, *;q=0.5", 0.5, true, true),
            ("gzip;q=2", 0, false, false), ("gzip;q=x", 0, false, false), ("gzip;q=-1", 0, false, false),
            ("gzip;level=9", 1, true, false),
            ("deflate, br", 0, false, false), ("gzip, gzip;q=0", 1, true, false), (";q=1, ,", 0, false, false),
        ] as [(String?, Double, Bool, Bool)])
    func weights(header: String?, quality: Double, prefersGzip: Bool, forbidsIdentity: Bool) {
        var head = HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: "/")
        head.headerFields[.acceptEncoding] = header
        let accepted = AcceptEncoding(Request(head: head, body: RequestBody(buffer: ByteBuffer())))
        #expect(accepted.quality(of: "gzip") == quality)
        #expect(accepted.prefersGzip == prefersGzip)
        #expect(accepted.forbidsIdentity == forbidsIdentity)
    }

    @Test("An answer that is made while it is sent shows how far it is, compressed or not", arguments: [true, false])
    func progress(compressed: Bool) async throws {
        let (steps, step) = AsyncStream.makeStream(of: Void.self)
        try await FileServer.run(routes: { router in
            router.get("steps") { _, _ in
                Response(
                    status: .ok, headers: [.contentType: "application/x-ndjson"],
                    body: ResponseBody { writer in
                        var waiting = steps.makeAsyncIterator()
                        for number in 1...3 {
                            // Two lines in a row: nothing follows the second one that would flush it.
                            try await writer.write(ByteBuffer(string: "{\"step\":\(number)}\n"))
                            try await writer.write(ByteBuffer(string: "{\"after\":\(number)}\n"))
                            _ = await waiting.next()
                        }
                        try await writer.finish(nil)
                    })
            }
        }) { server in
            try await TestSocket.with(port: server.port) { socket in
                try socket.send(FileServer.head("GET", "/steps", compressed ? ["Accept-Encoding: gzip"] : []))
                #expect(try socket.readHead()["content-encoding"] == (compressed ? "gzip" : nil))
                var received: [UInt8] = []
                var expected = ""
                for number in 1...3 {
                    expected += "{\"step\":\(number)}\n{\"after\":\(number)}\n"
                    // The next output is only made after this has arrived.
                    var shown = ""
                    while shown != expected {
                        let chunk = try socket.readChunk()
                        guard !chunk.isEmpty else { break }
                        received += chunk
                        shown = String(
                            decoding: compressed ? try Gzip.restore(received).bytes : received, as: UTF8.self)
                    }
                    #expect(shown == expected)
                    step.yield()
                }
                while case let chunk = try socket.readChunk(), !chunk.isEmpty { received += chunk }
                if compressed { #expect(try Gzip.decompress(received) == Array(expected.utf8)) }
            }
        }
    }

    @Test("An answer of many pieces arrives whole, and its failure ends the connection")
    func streams() async throws {
        struct Broken: Error {}
        let lines = (0..<20_000).map { "{\"line\":\($0)}\n" }
        try await FileServer.run(routes: { router in
            for fails in [true, false] {
                router.get(fails ? "broken" : "whole") { _, _ in
                    Response(
                        status: .ok, headers: [.contentType: "application/x-ndjson"],
                        body: ResponseBody { writer in
                            for line in lines { try await writer.write(ByteBuffer(string: line)) }
                            if fails { throw Broken() }
                            try await writer.finish(nil)
                        })
                }
            }
        }) { server in
            let answer = try await server.answer("GET", "/whole", ["Accept-Encoding: gzip"])
            #expect(String(decoding: try Gzip.decompress(answer.body), as: UTF8.self) == lines.joined())
            #expect(answer["vary"] == "Accept-Encoding")
            await #expect(throws: TestSocket.Failed.self) {
                try await server.answer("GET", "/broken", ["Accept-Encoding: gzip"])
            }
            // A client that disconnects ends the work on its answer.
            try await TestSocket.with(port: server.port) {
                try $0.send(FileServer.head("GET", "/whole", ["Accept-Encoding: gzip"]))
            }
            #expect(try await server.answer("GET", "/whole").status == 200)
        }
    }
}
