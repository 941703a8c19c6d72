import Foundation
import HTTPServing
import HTTPTypes
import Hummingbird
import NIOCore
import Testing
import TestSupport

/// Sending files to clients of all kinds.
@Suite("Delivery", .serialized)
struct DeliveryTests {
    @Test(
        "Sizes around what is sent at a time",
        arguments: [1, 65_535, 65_536, 65_537, (4 << 20) - 1, 4 << 20, (4 << 20) + 1, 9_000_000])
    func sizes(size: Int) async throws {
        let file = try TestFile(TestFile.noise(size))
        for guarded in [true, false] {
            try await FileServer.run(serving: file, guarded: guarded) { server in
                let answer = try await server.answer("GET", "/file", ["Accept-Encoding: gzip"])
                #expect(answer.body == file.bytes)
                // The middleware that compresses leaves files alone, text or not.
                #expect(answer["content-encoding"] == nil)
                #expect(answer["content-length"] == "\(size)")
            }
        }
    }

    @Test("Answers that follow each other on a connection keep their order")
    func pipelined() async throws {
        let file = try TestFile(TestFile.noise(6_000_000))
        let small = try TestFile(TestFile.noise(100, seed: 2))
        try await FileServer.run(routes: { router in
            router.serve(file, at: "file")
            router.serve(small, at: "small")
            router.get("text") { _, _ in Response.text("text") }
        }) { server in
            try await TestSocket.with(port: server.port) { socket in
                let requests: [(String, String, [String])] = [
                    ("GET", "/file", []), ("GET", "/small", []), ("HEAD", "/file", []),
                    ("GET", "/file", ["If-None-Match: *"]), ("GET", "/text", []),
                    ("GET", "/file", ["Range: bytes=1000000-4999999"]), ("GET", "/file", ["Range: bytes=6000000-"]),
                    ("GET", "/nothing", []),
                    ("GET", "/file", ["Connection: close"]),
                ]
                try socket.send(requests.flatMap { FileServer.head($0.0, $0.1, $0.2) })
                var answers: [Answer] = []
                for (method, _, _) in requests { answers.append(try socket.readAnswer(to: method)) }
                #expect(answers.map(\.status) == [200, 200, 200, 304, 200, 206, 416, 404, 200])
                #expect(answers[0].body == file.bytes)
                #expect(answers[1].body == small.bytes)
                #expect(answers[4].text == "text")
                #expect(answers[5].body.elementsEqual(file.bytes[1_000_000..<5_000_000]))
                #expect(answers[8].body == file.bytes)
                #expect(try socket.read(upTo: 1).isEmpty)
            }
        }
    }

    @Test("A client that hangs up in the middle lets go of the file at once", arguments: [true, false])
    func hangUp(guarded: Bool) async throws {
        let file = try TestFile([])
        try FileHandle(forWritingTo: file.url).truncate(atOffset: 1 << 30)
        try await FileServer.run(guarded: guarded, routes: { $0.serve(file, size: 1 << 30) }) { server in
            for read in [0, 1, 5_000_000] {
                try await TestSocket.with(port: server.port) { socket in
                    try socket.send(FileServer.head("GET", "/file"))
                    _ = try socket.readHead()
                    _ = try socket.read(exactly: read)
                    #expect(file.openCount == 1)
                }
                #expect(try await file.isReleased())
            }
            // The server still works.
            #expect(try await server.answer("HEAD").status == 200)
        }
    }

    @Test("Many slow readers of a large file cost no memory")
    func slowReaders() async throws {
        let file = try TestFile([])
        try FileHandle(forWritingTo: file.url).truncate(atOffset: 1 << 30)
        try await FileServer.run(routes: { $0.serve(file, size: 1 << 30) }) { server in
            _ = try await server.answer("HEAD")
            // Two regions in flight per reader would take 160 MiB. Other suites in this process use memory too.
            let growth = try await Memory.leastPeakGrowth(enough: 64 << 20) {
                let areThere = DispatchSemaphore(value: 0)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<20 {
                        group.addTask {
                            try await TestSocket.with(port: server.port, receiveBuffer: 64 << 10) { socket in
                                try socket.send(FileServer.head("GET", "/file"))
                                _ = try socket.readHead()
                                #expect(areThere.wait(timeout: .now() + 120) == .success)
                                for _ in 0..<20 {
                                    #expect(try socket.read(exactly: 10_000).allSatisfy { $0 == 0 })
                                    Thread.sleep(forTimeInterval: 0.05)
                                }
                            }
                        }
                    }
                    try await eventually { file.openCount == 20 }
                    for _ in 0..<20 { areThere.signal() }
                    try await group.waitForAll()
                }
            }
            if let growth { #expect(growth <= 64 << 20) }
            #expect(try await file.isReleased())
        }
    }

    @Test("A slow but steady client is served")
    func steady() async throws {
        let file = try TestFile([])
        try FileHandle(forWritingTo: file.url).truncate(atOffset: 1 << 30)
        try await FileServer.run(idleTimeout: .seconds(5), routes: { $0.serve(file, size: 1 << 30) }) { server in
            try await TestSocket.with(port: server.port, receiveBuffer: 64 << 10) { socket in
                try socket.send(FileServer.head("GET", "/file"))
                _ = try socket.readHead()
                // Longer than a client may take nothing, which is twice the time.
                let start = ContinuousClock.now
                repeat {
                    _ = try socket.read(exactly: 20_000)
                    Thread.sleep(forTimeInterval: 0.1)
                } while ContinuousClock.now - start < .seconds(14)
                // What is in the buffers of both systems would arrive after the end, too.
                #expect(file.openCount == 1)
            }
            #expect(try await file.isReleased())
        }
    }

    @Test("A stalled client is not served any longer")
    func stalled() async throws {
        let file = try TestFile([])
        try FileHandle(forWritingTo: file.url).truncate(atOffset: 1 << 30)
        try await FileServer.run(idleTimeout: .seconds(2), routes: { $0.serve(file, size: 1 << 30) }) { server in
            try await TestSocket.with(port: server.port, receiveBuffer: 64 << 10) { socket in
                try socket.send(FileServer.head("GET", "/file"))
                _ = try socket.readHead()
                try eventuallyBlocking { file.openCount == 0 }
                // The data in the buffers of both systems arrives, then the end.
                #expect(socket.countToEnd() < 1 << 28)
            }
        }
    }

    @Test("A file that became shorter ends the connection and not the server", arguments: [true, false])
    func truncated(guarded: Bool) async throws {
        let file = try TestFile(TestFile.noise(1_000_000))
        try await FileServer.run(guarded: guarded, routes: { $0.serve(file, size: 50_000_000) }) { server in
            try await TestSocket.with(port: server.port) { socket in
                try socket.send(FileServer.head("GET", "/file"))
                #expect(try socket.readHead()["content-length"] == "50000000")
                #expect(socket.countToEnd() <= 1_000_000)
            }
            #expect(try await file.isReleased())
            #expect(try await server.answer("HEAD").status == 200)
        }
    }

    @Test("A file compressed while it is sent is whole", arguments: [0, 1, 65_536, 65_537, 5_000_000])
    func compressedOnTheWay(size: Int) async throws {
        let file = try TestFile(TestFile.noise(size / 2) + [UInt8](repeating: 65, count: size - size / 2))
        try await FileServer.run(routes: { router in
            router.get("file") { _, _ in
                let opened = try file.open()
                return Response(
                    status: .ok, headers: [.contentType: "text/plain", .contentEncoding: "gzip"],
                    body: .gzip(of: opened.handle, size: Int64(size), level: 6, holding: opened))
            }
        }) { server in
            let answer = try await server.answer()
            #expect(answer["transfer-encoding"] == "chunked")
            #expect(try Gzip.decompress(answer.body) == file.bytes)
            if size > 100 { #expect(answer.body.count < size * 6 / 10) }
            #expect(try await file.isReleased())
            // A client that disconnects releases the file too.
            try await TestSocket.with(port: server.port) { socket in
                try socket.send(FileServer.head("GET", "/file"))
                _ = try socket.readHead()
            }
            #expect(try await file.isReleased())
        }
    }

    @Test("A response's own security headers are kept")
    func safety() async throws {
        let file = try TestFile([1])
        guard let policy = HTTPField.Name("Content-Security-Policy") else { return }
        let headers: HTTPFields = [.contentType: "text/html", policy: "sandbox; default-src 'none'"]
        try await FileServer.run(serving: file, headers: headers) { server in
            let answer = try await server.answer()
            #expect(answer["content-security-policy"] == "sandbox; default-src 'none'")
            #expect(answer["x-content-type-options"] == "nosniff")
        }
    }
}

extension Routes {
    /// Serves a file with a given size, which may be wrong.
    fileprivate func serve(_ file: TestFile, size: Int64) {
        let answer: @Sendable (Request, ServingRequestContext) throws -> Response = { request, context in
            let opened = try file.open()
            return ServedFile(
                handle: opened.handle, size: size, etag: "a", lastModified: 0, headers: [:], holding: opened
            )
            .response(to: request, in: context)
        }
        get("file", answer)
    }
}

/// Connections during the shutdown of a server.
@Suite("Ending")
struct EndingTests {
    /// Fifty times, because the timing of the last accepted connection is random.
    @Test("A server that ends while clients connect ends in order", arguments: 0..<50)
    func connecting(_: Int) async throws {
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        async let connecting: Void = {
            for await port in ports {
                await withTaskGroup(of: Void.self) { clients in
                    for _ in 0..<8 { clients.addTask { try? await TestSocket.with(port: port) { try $0.send([71]) } } }
                }
            }
        }()
        try await FileServer.run(routes: { _ in }) { server in
            let answer = try await server.answer("GET", "/nothing")
            #expect(answer.status == 404)
            port.yield(server.port)
        }
        port.finish()
        await connecting
    }
}
