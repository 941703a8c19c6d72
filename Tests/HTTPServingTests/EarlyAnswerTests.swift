import HTTPServing
import HTTPTypes
import Hummingbird
import Testing

/// Requests that are answered before they have arrived completely.
@Suite("Early answers")
struct EarlyAnswerTests {
    private static func run(_ body: @Sendable (FileServer) async throws -> Void) async throws {
        try await FileServer.run(
            routes: { router in
                router.post("limited") { request, _ in
                    Response.text("\(try await request.bodyBytes(limit: 1000).count)")
                }
                router.post("refused") { _, _ in Response.text("no\n", status: .unauthorized) }
                router.get("text") { _, _ in Response.text("text") }
            }, body)
    }

    /// Sends pieces until the server takes no more.
    /// - Returns: the number of bytes accepted, including system buffers.
    private static func pour(into socket: TestSocket, _ piece: [UInt8]) -> Int {
        var count = 0
        while count < 256 << 20 {
            do { try socket.send(piece) } catch { return count }
            count += piece.count
        }
        return count
    }

    /// Each takes the time for which the server goes on reading, so they run side by side.
    @Test("What follows an answer is read for a moment and no further, and the connection ends")
    func poured() async throws {
        try await Self.run { server in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (path, status) in [("/limited", 413), ("/refused", 401)] {
                    for framing in ["Content-Length: 1000000000", "Transfer-Encoding: chunked"] {
                        group.addTask { try await Self.pour(path, framing, status: status, on: server) }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    private static func pour(_ path: String, _ framing: String, status: Int, on server: FileServer) async throws {
        try await TestSocket.with(port: server.port) { socket in
            let isChunked = framing.hasSuffix("chunked")
            let piece =
                (isChunked ? Array("100000\r\n".utf8) : []) + [UInt8](repeating: 32, count: 1 << 20)
                + (isChunked ? [13, 10] : [])
            try socket.send(FileServer.head("POST", path, [framing]) + piece)
            let answer = try socket.readAnswer()
            #expect(answer.status == status, "\(path), \(framing)")
            // With chunked encoding, the remaining size is unknown.
            if !isChunked || status == 413 { #expect(answer["connection"] == "close", "\(path), \(framing)") }
            // System buffers hold some megabytes on each side.
            #expect(pour(into: socket, piece) < 64 << 20, "\(path), \(framing)")
        }
    }

    @Test(
        "The rest of a small request is read, and the connection stays open",
        arguments: ["Content-Length: 100000", "Transfer-Encoding: chunked"])
    func goesOn(framing: String) async throws {
        try await Self.run { server in
            try await TestSocket.with(port: server.port) { socket in
                for _ in 0..<3 {
                    try socket.send(FileServer.head("POST", "/refused", [framing]))
                    let first = try socket.readAnswer()
                    #expect(first.status == 401 && first["connection"] == nil)
                    let body = [UInt8](repeating: 1, count: 100_000)
                    try socket.send(
                        framing.hasSuffix("chunked")
                            ? Array("186a0\r\n".utf8) + body + Array("\r\n0\r\n\r\n".utf8) : body)
                    try socket.send(FileServer.head("GET", "/text"))
                    #expect(try socket.readAnswer().text == "text")
                }
            }
        }
    }

    @Test("A client that sends everything before it looks finds the answer")
    func sentWhole() async throws {
        try await Self.run { server in
            for path in ["/limited", "/refused"] {
                try await TestSocket.with(port: server.port) { socket in
                    try socket.send(
                        FileServer.head("POST", path, ["Content-Length: 1000000"])
                            + [UInt8](repeating: 1, count: 1_000_000))
                    #expect([401, 413].contains(try socket.readAnswer().status))
                }
            }
        }
    }

    @Test("A request that proves malformed after its answer is not answered again, and the connection ends")
    func malformedRest() async throws {
        try await Self.run { server in
            try await TestSocket.with(port: server.port) { socket in
                try socket.send(FileServer.head("POST", "/refused", ["Transfer-Encoding: chunked"]))
                #expect(try socket.readAnswer().status == 401)
                try socket.send(Array("this is no size of a chunk\r\n".utf8))
                #expect(try socket.read(upTo: 1).isEmpty)
            }
        }
    }

    @Test("Something malformed after a complete exchange is refused")
    func malformedNext() async throws {
        try await Self.run { server in
            try await TestSocket.with(port: server.port) { socket in
                try socket.send(FileServer.head("GET", "/text"))
                #expect(try socket.readAnswer().text == "text")
                try socket.send(Array("this is no request\r\n\r\n".utf8))
                #expect(try socket.readAnswer().status == 400)
            }
        }
    }
}
