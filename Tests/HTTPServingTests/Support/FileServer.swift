import HTTPServing
import HTTPTypes
import Hummingbird
import LoopbackServing
import NIOCore

/// A server with all guards on its own port.
struct FileServer: Sendable {
    let port: Int

    /// Runs a server while the body runs.
    static func run(
        guarded: Bool = true, uploadLimit: Int64 = 0, idleTimeout: TimeAmount = .seconds(60),
        memory: MemoryBudget = MemoryBudget(),
        routes: @Sendable (Routes) -> Void, _ body: @Sendable (FileServer) async throws -> Void
    ) async throws {
        let router = Routes()
        router.addGuards(trusting: .loopback, memory: memory)
        routes(router)
        try await LoopbackServer.run(
            router, server: guarded ? .guardedHTTP1(uploadLimit: uploadLimit, idleTimeout: idleTimeout) : .http1()
        ) {
            try await body(FileServer(port: $0))
        }
    }

    /// Runs a server that answers `/file` with a file, GET and HEAD.
    static func run(
        serving file: TestFile, guarded: Bool = true, idleTimeout: TimeAmount = .seconds(60),
        headers: HTTPFields = [.contentType: "text/plain"],
        _ body: @Sendable (FileServer) async throws -> Void
    ) async throws {
        try await run(
            guarded: guarded, idleTimeout: idleTimeout, routes: { $0.serve(file, at: "file", headers: headers) }, body)
    }

    /// Sends a request on a new connection and reads the answer.
    func answer(
        _ method: String = "GET", _ path: String = "/file", _ fields: [String] = [], body: [UInt8] = []
    ) async throws -> Answer {
        try await TestSocket.with(port: port) { socket in
            try socket.send(Self.head(method, path, fields) + body)
            return try socket.readAnswer(to: method)
        }
    }

    static func head(_ method: String, _ path: String, _ fields: [String] = []) -> [UInt8] {
        Array(("\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n").utf8)
    }
}

extension Routes {
    func serve(_ file: TestFile, at path: String, headers: HTTPFields = [.contentType: "text/plain"]) {
        let answer: @Sendable (Request, ServingRequestContext) throws -> Response = { request, context in
            let opened = try file.open()
            return ServedFile(
                handle: opened.handle, size: Int64(file.bytes.count), etag: TestFile.etag,
                lastModified: TestFile.lastModified, headers: headers,
                holding: opened
            ).response(to: request, in: context)
        }
        get(path, answer)
    }

    /// Serves a file that is kept as it is and compressed, like an asset.
    func serve(_ identity: TestFile, compressed: TestFile, at path: String) {
        let answer: @Sendable (Request, ServingRequestContext) throws -> Response = { request, context in
            let isCompressed = RequestedForm(request, compressedTag: TestFile.compressedTag) != .identity
            let file = isCompressed ? compressed : identity
            let opened = try file.open()
            var headers: HTTPFields = [.contentType: "text/plain", .vary: "Accept-Encoding"]
            if isCompressed { headers[.contentEncoding] = "gzip" }
            return ServedFile(
                handle: opened.handle, size: Int64(file.bytes.count),
                etag: isCompressed ? TestFile.compressedTag : TestFile.etag,
                lastModified: TestFile.lastModified, headers: headers, holding: opened
            ).response(to: request, in: context)
        }
        get(path, answer)
    }
}

/// The headers of an answer with a file.
enum ServedFileAnswer {
    static func lastModified(_ seconds: Int64) async throws -> String? {
        let file = try TestFile([1])
        let (texts, text) = AsyncStream.makeStream(of: String?.self)
        try await FileServer.run(routes: { router in
            router.get("file") { request, context in
                let opened = try file.open()
                return ServedFile(
                    handle: opened.handle, size: 1, etag: "a", lastModified: seconds, headers: [:], holding: opened
                )
                .response(to: request, in: context)
            }
        }) { server in
            text.yield(try await server.answer()["last-modified"])
        }
        text.finish()
        for await value in texts { return value }
        return nil
    }
}
