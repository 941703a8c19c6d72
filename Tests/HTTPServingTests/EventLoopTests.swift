import HTTPServing
import HTTPTypes
import Hummingbird
import NIOCore
import Testing

/// The threads on which requests are answered.
@Suite("Event loops", .timeLimit(.minutes(5)))
struct EventLoopTests {
    /// Runs a server whose routes answer with the kind of their thread.
    private static func run(_ body: @Sendable (FileServer) async throws -> Void) async throws {
        try await FileServer.run(
            routes: { router in
                let answer: Routes.Handler = { request, context in
                    let size = try await request.bodyBytes().count
                    return .text("\(size) bytes on \(context.channel.eventLoop.inEventLoop ? "the loop" : "the pool")")
                }
                router.get("brief", threads: .eventLoop, answer)
                router.post("brief", threads: .eventLoop, answer)
                router.get("long", answer)
                router.post("long", answer)
                router.get("stream") { _, context in
                    Response(
                        status: .ok,
                        body: ResponseBody { writer in
                            let isOnLoop = context.channel.eventLoop.inEventLoop
                            try await writer.write(ByteBuffer(string: isOnLoop ? "the loop" : "the pool"))
                            try await writer.finish(nil)
                        })
                }
            }, body)
    }

    /// The answers to a request that is repeated.
    private static func answers(
        _ server: FileServer, _ method: String, _ path: String, _ fields: [String] = [], body: [UInt8] = []
    ) async throws -> Set<String> {
        var answers: Set<String> = []
        for _ in 0..<20 { answers.insert(try await server.answer(method, path, fields, body: body).text) }
        return answers
    }

    @Test("A brief handler with a small body runs on the loop of its connection, and all others don't")
    func threads() async throws {
        try await Self.run { server in
            #expect(try await Self.answers(server, "GET", "/brief").contains("0 bytes on the loop"))
            for size in [5, 4 << 10] {
                let body = [UInt8](repeating: 65, count: size)
                let answers = try await Self.answers(
                    server, "POST", "/brief", ["Content-Length: \(size)"], body: body)
                #expect(answers.contains("\(size) bytes on the loop"))
            }
            let large = [UInt8](repeating: 65, count: 4 << 10 + 1)
            #expect(
                try await Self.answers(server, "POST", "/brief", ["Content-Length: \(large.count)"], body: large)
                    == ["\(large.count) bytes on the pool"])
            let compressed = try Gzip.compress([65])
            #expect(
                try await Self.answers(
                    server, "POST", "/brief", ["Content-Length: \(compressed.count)", "Content-Encoding: gzip"],
                    body: compressed) == ["1 bytes on the pool"])
            #expect(
                try await Self.answers(
                    server, "POST", "/brief", ["Transfer-Encoding: chunked"], body: Array("1\r\nA\r\n0\r\n\r\n".utf8))
                    == ["1 bytes on the pool"], "the size of its body is not known before")
            #expect(try await Self.answers(server, "GET", "/long") == ["0 bytes on the pool"])
            #expect(
                try await Self.answers(server, "POST", "/long", ["Content-Length: 1"], body: [65])
                    == ["1 bytes on the pool"])
            #expect(try await Self.answers(server, "GET", "/stream") == ["the pool"])
        }
    }

    @Test("A brief handler leaves the loop now and then, so that its other connections get their turn")
    func turns() async throws {
        try await Self.run { server in
            try await TestSocket.with(port: server.port) { socket in
                // The client does not wait for the answers.
                try socket.send((0..<200).flatMap { _ in FileServer.head("GET", "/brief") })
                let answers = try (0..<200).map { _ in try socket.readAnswer().text }
                #expect(Set(answers) == ["0 bytes on the loop", "0 bytes on the pool"])
            }
        }
    }
}
