import HTTPTypes
import Hummingbird
import Testing

/// Parts of files.
@Suite("Ranges")
struct RangeTests {
    private static let size: Int64 = 1_000_000

    /// A header and the range that it requests of a file of a million bytes: a range, the whole (`nil`), or none (empty).
    private static let table: [(String, Range<Int64>?)] = [
        ("bytes=0-0", 0..<1),
        ("bytes=0-499", 0..<500),
        ("bytes=500-999", 500..<1000),
        ("bytes=999999-999999", 999_999..<1_000_000),
        ("bytes=999999-", 999_999..<1_000_000),
        ("bytes=0-", 0..<1_000_000),
        ("bytes=0-999999", 0..<1_000_000),
        ("bytes=0-1000000", 0..<1_000_000),
        ("bytes=0-99999999999999999999999999", 0..<1_000_000),
        ("bytes=65535-65537", 65_535..<65_538),
        ("bytes=131072-", 131_072..<1_000_000),
        ("bytes=-1", 999_999..<1_000_000),
        ("bytes=-500", 999_500..<1_000_000),
        ("bytes=-1000000", 0..<1_000_000),
        ("bytes=-1000001", 0..<1_000_000),
        ("bytes=-99999999999999999999999999", 0..<1_000_000),
        ("BYTES=0-9", 0..<10),
        ("bytes= 0-9 ", 0..<10),
        ("bytes=,0-9,,", 0..<10),
        // One of two ranges is satisfiable.
        ("bytes=0-9,1000000-", 0..<10),
        // Beyond the end.
        ("bytes=1000000-", 0..<0),
        ("bytes=1000000-1000001", 0..<0),
        ("bytes=99999999999999999999999999-", 0..<0),
        ("bytes=-0", 0..<0),
        ("bytes=1000000-,-0", 0..<0),
        // Several ranges may be answered with the whole file.
        ("bytes=0-9,20-29", nil),
        ("bytes=0-9, -10", nil),
        // Invalid ranges are ignored.
        ("bytes=9-0", nil),
        ("bytes=", nil),
        ("bytes=-", nil),
        ("bytes=,", nil),
        ("bytes=a-b", nil),
        ("bytes=0x1-2", nil),
        ("bytes=+1-2", nil),
        ("bytes=1-2-3", nil),
        ("bytes=--1", nil),
        ("bytes=1 - 2", nil),
        ("bytes=0-9,x", nil),
        ("bytes", nil),
        ("0-9", nil),
        ("lines=0-9", nil),
        ("", nil),
    ]

    @Test("Every form of the header brings the bytes it asks for", arguments: [true, false])
    func forms(guarded: Bool) async throws {
        let file = try TestFile(TestFile.noise(Int(Self.size)))
        // Without the guard handler, files are copied through memory. The results must be the same.
        try await FileServer.run(serving: file, guarded: guarded) { server in
            for (header, expected) in Self.table {
                let answer = try await server.answer("GET", "/file", ["Range: \(header)"])
                switch expected {
                case nil:
                    #expect(answer.status == 200, "\(header)")
                    #expect(answer["content-range"] == nil, "\(header)")
                    #expect(answer.body == file.bytes, "\(header)")
                case let part? where part.isEmpty:
                    #expect(answer.status == 416, "\(header)")
                    #expect(answer["content-range"] == "bytes */\(Self.size)", "\(header)")
                case let part?:
                    #expect(answer.status == 206, "\(header)")
                    #expect(answer["content-range"] == "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(Self.size)", "\(header)")
                    #expect(answer["content-length"] == "\(part.count)", "\(header)")
                    #expect(answer.body.elementsEqual(file.bytes[Int(part.lowerBound)..<Int(part.upperBound)]), "\(header)")
                }
                if answer.status < 300 {
                    #expect(answer["etag"] == "\"\(TestFile.etag)\"")
                    #expect(answer["last-modified"] == "Sun, 06 Nov 1994 08:49:37 GMT")
                    #expect(answer["accept-ranges"] == "bytes")
                    #expect(answer["content-encoding"] == nil)
                }
            }
            #expect(try await file.isReleased())
        }
    }

    @Test("The refusal of a part is in the protocol's form below /assets/")
    func refusal() async throws {
        let file = try TestFile([1, 2, 3])
        try await FileServer.run(routes: { $0.serve(file, at: "assets/file") }) { server in
            let answer = try await server.answer("GET", "/assets/file", ["Range: bytes=3-"])
            #expect(answer.status == 416)
            #expect(answer["content-type"]?.hasPrefix("application/json") == true)
            #expect(answer.text.contains("The file has 3 bytes"))
        }
    }

    @Test("An empty file has no parts", arguments: [("bytes=0-", 416), ("bytes=-5", 200), ("bytes=-0", 416), ("bytes=0-0", 416), (nil, 200)])
    func empty(header: String?, status: Int) async throws {
        let file = try TestFile([])
        try await FileServer.run(serving: file) { server in
            let answer = try await server.answer("GET", "/file", header.map { ["Range: \($0)"] } ?? [])
            #expect(answer.status == status)
            #expect(answer["content-range"] == (status == 416 ? "bytes */0" : nil))
            if status == 200 { #expect(answer["content-length"] == "0") }
            let head = try await server.answer("HEAD", "/file")
            #expect(head["content-length"] == "0")
        }
    }

    @Test("HEAD says what GET says, without the bytes, and knows no parts")
    func heads() async throws {
        let file = try TestFile(TestFile.noise(300_000))
        try await FileServer.run(serving: file, headers: [.contentType: "text/plain", .cacheControl: "private"]) { server in
            var get = try await server.answer("GET").fields
            for fields in [[], ["Range: bytes=0-9"], ["Range: bytes=300000-"], ["Accept-Encoding: gzip"]] {
                var head = try await server.answer("HEAD", "/file", fields).fields
                for name in ["date", "server-timing"] {
                    head[name] = nil
                    get[name] = nil
                }
                #expect(head == get)
            }
            #expect(get["content-length"] == "300000")
            #expect(try await file.isReleased())
        }
    }

    @Test("Any part of either coding is the bytes of that coding; put together they are the file")
    func codings() async throws {
        // The words compress well, and differ from place to place.
        var text: [UInt8] = []
        var random = SystemRandomNumberGenerator()
        while text.count < 3_000_000 { text += Array("line \(text.count) of \(UInt16.random(in: 0..<100, using: &random))\n".utf8) }
        let whole = text
        let identity = try TestFile(text)
        let gzip = try TestFile(try Gzip.compress(text))
        try await FileServer.run(routes: { router in
            router.serve(identity, at: "identity")
            router.serve(gzip, at: "gzip", headers: [.contentType: "text/plain", .contentEncoding: "gzip"])
        }) { server in
            for (path, file) in [("/identity", identity), ("/gzip", gzip)] {
                let size = file.bytes.count
                try await TestSocket.with(port: server.port) { socket in
                    // Random ranges, one after the other on the same connection.
                    for _ in 0..<150 {
                        let start = Int.random(in: 0..<size)
                        let end = Bool.random() ? Int.random(in: start..<size) : min(size - 1, start + Int.random(in: 0..<100_000))
                        try socket.send(FileServer.head("GET", path, ["Range: bytes=\(start)-\(end)"]))
                        let answer = try socket.readAnswer()
                        #expect(answer.status == 206)
                        #expect(answer.body.elementsEqual(file.bytes[start...end]), "\(path) \(start)-\(end)")
                    }
                    // The whole file in pieces, like a client that resumes.
                    var pieces: [UInt8] = []
                    while pieces.count < size {
                        let end = min(size - 1, pieces.count + Int.random(in: 1..<500_000))
                        try socket.send(FileServer.head("GET", path, ["Range: bytes=\(pieces.count)-\(end)", "If-Range: \"\(TestFile.etag)\""]))
                        pieces += try socket.readAnswer().body
                    }
                    #expect(path == "/gzip" ? try Gzip.decompress(pieces) == whole : pieces == whole)
                }
            }
        }
    }
}
