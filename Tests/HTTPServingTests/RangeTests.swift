import HTTPTypes
import Hummingbird
import Testing

/// Parts of files.
@Suite("Ranges")
struct RangeTests {
    private static let size: Int64 = 1_000_000

    /// A header and the range that it requests of a file of a million bytes: a range, the whole (`nil`), or none
    /// (empty).
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
                    #expect(
                        answer["content-range"] == "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(Self.size)",
                        "\(header)")
                    #expect(answer["content-length"] == "\(part.count)", "\(header)")
                    #expect(
                        answer.body.elementsEqual(file.bytes[Int(part.lowerBound)..<Int(part.upperBound)]), "\(header)")
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

    @Test(
        "An empty file has no parts",
        arguments: [("bytes=0-", 416), ("bytes=-5", 200), ("bytes=-0", 416), ("bytes=0-0", 416), (nil, 200)])
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
        try await FileServer.run(serving: file, headers: [.contentType: "text/plain", .cacheControl: "private"]) {
            server in
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
        while text.count < 3_000_000 {
            text += Array("line \(text.count) of \(UInt16.random(in: 0..<100, using: &random))\n".utf8)
        }
        let whole = text
        let identity = try TestFile(text)
        let gzip = try TestFile(try Gzip.compress(text))
        // The client accepts gzip all the time, as most do. It says by its tag which form it continues; without one it
        // means the file's own bytes.
        let forms: [(TestFile, [String], [String])] = [
            (identity, [], ["If-Range: \"\(TestFile.etag)\""]),
            (gzip, ["If-Range: \"\(TestFile.compressedTag)\""], ["If-Range: \"\(TestFile.compressedTag)\""]),
        ]
        try await FileServer.run(routes: { $0.serve(identity, compressed: gzip, at: "file") }) { server in
            for (file, parted, resumed) in forms {
                let size = file.bytes.count
                let isCompressed = file === gzip
                try await TestSocket.with(port: server.port) { socket in
                    func part(_ start: Int, _ end: Int, _ fields: [String]) throws -> Answer {
                        try socket.send(
                            FileServer.head(
                                "GET", "/file",
                                ["Accept-Encoding: gzip, deflate", "Range: bytes=\(start)-\(end)"] + fields))
                        let answer = try socket.readAnswer()
                        #expect(answer.status == 206)
                        #expect(answer["content-encoding"] == (isCompressed ? "gzip" : nil))
                        #expect(answer["content-range"] == "bytes \(start)-\(end)/\(size)")
                        return answer
                    }
                    // Random ranges, one after the other on the same connection.
                    for _ in 0..<150 {
                        let start = Int.random(in: 0..<size)
                        let end =
                            Bool.random()
                            ? Int.random(in: start..<size) : min(size - 1, start + Int.random(in: 0..<100_000))
                        let answer = try part(start, end, parted)
                        #expect(answer.body.elementsEqual(file.bytes[start...end]), "\(isCompressed) \(start)-\(end)")
                    }
                    // The whole file in pieces, like a client that resumes.
                    var pieces: [UInt8] = []
                    while pieces.count < size {
                        let end = min(size - 1, pieces.count + Int.random(in: 1..<500_000))
                        pieces += try part(pieces.count, end, resumed).body
                    }
                    #expect(isCompressed ? try Gzip.decompress(pieces) == whole : pieces == whole)
                }
            }
        }
    }

    /// What a request for a file in two forms says, and the status and coding of its answer.
    private static let negotiations: [(fields: [String], status: Int, isCompressed: Bool)] = [
        // Without a range the client's preference decides.
        (["Accept-Encoding: gzip"], 200, true),
        (["Accept-Encoding: gzip", "If-Range: \"cafe\""], 200, true),
        ([], 200, false),
        // A range is one of the file's own bytes.
        (["Range: bytes=100-"], 206, false),
        (["Range: bytes=100-", "Accept-Encoding: gzip"], 206, false),
        (["Range: bytes=100-", "Accept-Encoding: *"], 206, false),
        (["Range: bytes=-5", "Accept-Encoding: gzip, identity;q=0.1"], 206, false),
        (["Range: bytes=60000-60001", "Accept-Encoding: gzip"], 206, false),
        (["Range: bytes=99999999-", "Accept-Encoding: gzip"], 416, false),
        // The tag says which form the client holds.
        (["Range: bytes=5-9", "Accept-Encoding: gzip", "If-Range: \"cafe\""], 206, false),
        (["Range: bytes=5-9", "Accept-Encoding: gzip", "If-Range: \"cafe-gzip\""], 206, true),
        (["Range: bytes=60000-", "Accept-Encoding: gzip", "If-Range: \"cafe-gzip\""], 416, true),
        (["Range: bytes=5-9", "Accept-Encoding: gzip;q=0.1, identity", "If-Range: \"cafe-gzip\""], 206, true),
        (["Range: bytes=5-9", "Accept-Encoding: gzip", "If-Match: \"cafe-gzip\""], 206, true),
        (["Range: bytes=5-9", "Accept-Encoding: gzip", "If-Match: \"cafe\""], 206, false),
        (["Range: bytes=5-9", "Accept-Encoding: gzip", "If-Match: \"x\""], 412, false),
        // A date is the same for both forms.
        (["Range: bytes=5-9", "Accept-Encoding: gzip", "If-Range: Sun, 06 Nov 1994 08:49:37 GMT"], 206, false),
        (["Range: bytes=5-9", "Accept-Encoding: gzip", "If-Range: Sun, 06 Nov 1994 08:49:36 GMT"], 200, false),
        // Tags that name no part of the file, or of a form that the client does not accept.
        (["Range: bytes=5-9", "Accept-Encoding: gzip", "If-Range: \"stale\""], 200, false),
        (["Range: bytes=5-9", "Accept-Encoding: gzip", "If-Range: W/\"cafe-gzip\""], 200, false),
        (["Range: bytes=5-9", "Accept-Encoding: gzip", "If-Range: \"cafe-gzip\"", "If-Range: \"cafe\""], 200, false),
        (["Range: bytes=5-9", "Accept-Encoding: identity", "If-Range: \"cafe-gzip\""], 200, false),
        (["Range: bytes=5-9", "If-Range: \"cafe-gzip\""], 200, false),
        // Ranges that are not answered with a part.
        (["Range: bytes=0-1,5-6", "Accept-Encoding: gzip"], 200, false),
        (["Range: lines=0-1", "Accept-Encoding: gzip"], 200, false),
        // Who refuses the file as it is can only mean the compressed bytes.
        (["Range: bytes=5-9", "Accept-Encoding: gzip, identity;q=0"], 206, true),
        (["Range: bytes=5-9", "Accept-Encoding: gzip, *;q=0", "If-Range: \"cafe\""], 200, true),
        (["Range: bytes=5-9", "Accept-Encoding: gzip;q=0, identity;q=0"], 206, false),
    ]

    @Test("A range counts the file's own bytes, unless the client continues its compressed form")
    func formsOfARange() async throws {
        let text = Array((0..<20_000).map { "Line \($0)\n" }.joined().utf8)
        let identity = try TestFile(text)
        let gzip = try TestFile(try Gzip.compress(text))
        #expect(text.count > 60_001 && gzip.bytes.count < 60_000)
        try await FileServer.run(routes: { $0.serve(identity, compressed: gzip, at: "file") }) { server in
            for (fields, status, isCompressed) in Self.negotiations {
                let answer = try await server.answer("GET", "/file", fields)
                #expect(answer.status == status, "\(fields)")
                if status == 416 {
                    #expect(
                        answer["content-range"] == "bytes */\((isCompressed ? gzip : identity).bytes.count)",
                        "\(fields)")
                }
                guard status < 300 else { continue }
                #expect(answer["content-encoding"] == (isCompressed ? "gzip" : nil), "\(fields)")
                #expect(answer["etag"] == (isCompressed ? "\"cafe-gzip\"" : "\"cafe\""), "\(fields)")
                #expect(answer["vary"] == "Accept-Encoding", "\(fields)")
                if status == 200 { #expect(answer.body == (isCompressed ? gzip : identity).bytes, "\(fields)") }
            }
            // HEAD knows no ranges, so only the preference counts.
            let head = try await server.answer("HEAD", "/file", ["Accept-Encoding: gzip", "Range: bytes=5-9"])
            #expect(
                head.status == 200 && head["content-encoding"] == "gzip"
                    && head["content-length"] == "\(gzip.bytes.count)")
            #expect(try await identity.isReleased())
            #expect(try await gzip.isReleased())
        }
    }
}
