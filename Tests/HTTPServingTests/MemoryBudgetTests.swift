import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Records
import Synchronization
import TestSupport
import Testing

@testable import HTTPServing

/// The memory limit of bodies and answers together.
@Suite("Memory budget", .serialized, .timeLimit(.minutes(5)))
struct MemoryBudgetTests {
    private static let size = 20_000_000

    /// - Parameters:
    ///   - late: a gate that blocks the event loops of connections that request `/late`.
    ///   - heads: counts the requests to `/held` whose heads have arrived.
    private static func run(
        late: Gate = Gate(), heads: Heads = Heads(), _ body: @Sendable (FileServer, MemoryBudget) async throws -> Void
    ) async throws {
        let budget = MemoryBudget(limit: 50_000_000)
        try await FileServer.run(
            memory: budget,
            routes: { router in
                router.post("held") { request, _ in
                    heads.count.add(1, ordering: .relaxed)
                    return Response.text("\(try await request.bodyBytes(limit: 40_000_000).count)")
                }
                router.post("failed") { request, _ -> Response in
                    _ = try await request.bodyBytes()
                    throw HTTPError(.conflict)
                }
                router.post("twice") { request, _ in
                    var request = request
                    let sent = try await request.readSentBody().count
                    var counts: [Int] = []
                    for _ in 0..<2 { counts.append(try await request.bodyBytes().count) }
                    return Response.text("\(sent) \(counts) \(budget.takenBytes)")
                }
                router.post("dropped") { request, _ in
                    var request = request
                    _ = try await request.readSentBody()
                    RequestMemory.current?.dropBody()
                    return Response.text("\(try await request.bodyBytes().count) \(budget.takenBytes)")
                }
                router.post("both") { request, _ in
                    _ = try await request.bodyBytes()
                    try RequestMemory.current?.prepareAnswer(of: 2 * size)
                    return Response.text("\(budget.takenBytes)")
                }
                router.get("large") { _, _ in Response.json([UInt8](repeating: 32, count: size)) }
                router.get("late") { _, context in
                    context.channel.eventLoop.execute { late.wait() }
                    return Response.json([UInt8](repeating: 32, count: size))
                }
                router.get("prepared") { _, _ in
                    do {
                        try RequestMemory.current?.prepareAnswer(of: 2 * size)
                    } catch let shortage as RequestMemory.Shortage {
                        do {
                            try await RequestMemory.current?.waitForRoom(after: shortage)
                        } catch let error as RecordError {
                            return Response.text(error.reason, status: error.code.httpStatus)
                        }
                    }
                    return Response.text("prepared")
                }
            }
        ) { server in try await body(server, budget) }
        #expect(budget.takenBytes == 0)
    }

    /// Waits until this many bytes are in use.
    private static func isTaken(_ bytes: Int, of budget: MemoryBudget) async throws {
        try await eventually { budget.takenBytes == bytes }
    }

    private final class Heads: Sendable {
        let count = Atomic(0)
    }

    /// A gate that threads wait for.
    private final class Gate: Sendable {
        private let isOpen = Atomic(false)

        func open() { isOpen.store(true, ordering: .relaxed) }
        func wait() { while !isOpen.load(ordering: .relaxed) { Thread.sleep(forTimeInterval: 0.002) } }
    }

    /// Sends the beginning of a body, and the rest after the gate opens.
    private static func send(
        _ server: FileServer, _ body: [UInt8], _ fields: [String] = [], to path: String = "/held", stoppingAt gate: Gate
    ) async throws -> Answer {
        try await TestSocket.with(port: server.port) { socket in
            try socket.send(
                FileServer.head("POST", path, fields + ["Content-Length: \(body.count)"]) + body.prefix(100_000))
            gate.wait()
            try socket.send(Array(body.dropFirst(100_000)))
            return try socket.readAnswer()
        }
    }

    /// While anything large is held, the heap will be needed again.
    @Test("The heap is trimmed once after a burst")
    func heap() {
        let budget = MemoryBudget()
        #expect(!budget.takeTrimming())
        budget.count(20 << 20)
        budget.count(20 << 20)
        budget.giveBack(20 << 20)
        #expect(!budget.takeTrimming())
        budget.giveBack(20 << 20)
        #expect(budget.takeTrimming() && !budget.takeTrimming())
        // Small ones are no burst.
        budget.count(1 << 20)
        budget.giveBack(1 << 20)
        #expect(!budget.takeTrimming())
    }

    @Test("Bodies reserve their declared size; beyond the limit only small ones are accepted")
    func bodies() async throws {
        let body = [UInt8](repeating: 1, count: Self.size)
        try await Self.run { server, budget in
            let gate = Gate()
            async let first = Self.send(server, body, stoppingAt: gate)
            async let second = Self.send(server, body, stoppingAt: gate)
            try await Self.isTaken(2 * Self.size, of: budget)
            let refused = try await server.answer(
                "POST", "/held", ["Content-Length: \(Self.size)"], body: Array(body.prefix(100_000)))
            #expect(refused.status == 503 && refused["retry-after"] == "2" && refused["connection"] == "close")
            #expect(refused.text.contains("--transfer-memory"))
            #expect(
                try await server.answer(
                    "POST", "/held", ["Content-Length: 60000"], body: [UInt8](repeating: 1, count: 60_000)
                ).text == "60000")
            #expect(budget.takenBytes == 2 * Self.size)
            gate.open()
            for answer in try await [first, second] { #expect(answer.text == "\(Self.size)") }
            try await Self.isTaken(0, of: budget)
        }
    }

    @Test("A request head reserves no memory for its declared body")
    func heads() async throws {
        let heads = Heads()
        try await Self.run(heads: heads) { server, budget in
            let gate = Gate()
            async let idle = withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        try await TestSocket.with(port: server.port) { socket in
                            try socket.send(FileServer.head("POST", "/held", ["Content-Length: 30000000"]))
                            gate.wait()
                        }
                    }
                }
                try await group.waitForAll()
            }
            // A failure opens the gate before the tasks behind it are awaited.
            defer { gate.open() }
            try await eventually { heads.count.load(ordering: .relaxed) == 4 }
            #expect(budget.takenBytes == 0)
            let body = [UInt8](repeating: 1, count: Self.size)
            #expect(
                try await server.answer("POST", "/held", ["Content-Length: \(Self.size)"], body: body).text
                    == "\(Self.size)")
            gate.open()
            try await idle
        }
    }

    @Test("A body that is read again takes nothing more, and an answer beside it no more than if it were alone")
    func again() async throws {
        let body = [UInt8](repeating: 1, count: Self.size)
        let fields = ["Content-Length: \(Self.size)"]
        try await Self.run { server, budget in
            #expect(
                try await server.answer("POST", "/twice", fields, body: body).text
                    == "\(Self.size) [\(Self.size), \(Self.size)] \(Self.size)")
            let zeroes = try Gzip.zeroes(restoringTo: Self.size)
            let compressed = try await server.answer(
                "POST", "/twice", ["Content-Encoding: gzip", "Content-Length: \(zeroes.count)"], body: zeroes)
            #expect(compressed.text == "\(zeroes.count) [\(Self.size), \(Self.size)] \(zeroes.count + Self.size)")
            #expect(try await server.answer("POST", "/both", fields, body: body).text == "\(3 * Self.size)")
            #expect(try await server.answer("POST", "/dropped", fields, body: body).text == "0 0")
            try await Self.isTaken(0, of: budget)
        }
    }

    @Test("Memory is returned however a request ends")
    func ends() async throws {
        let body = [UInt8](repeating: 1, count: Self.size)
        try await Self.run { server, budget in
            #expect(
                try await server.answer("POST", "/failed", ["Content-Length: \(Self.size)"], body: body).status == 409)
            try await Self.isTaken(0, of: budget)
            // The client disconnects in the middle.
            try await TestSocket.with(port: server.port) { socket in
                try socket.send(
                    FileServer.head("POST", "/held", ["Content-Length: \(Self.size)"]) + body.prefix(100_000))
                try eventuallyBlocking { budget.takenBytes > 0 }
            }
            try await Self.isTaken(0, of: budget)
            // The body is not valid gzip.
            try await TestSocket.with(port: server.port) { socket in
                try socket.send(
                    FileServer.head("POST", "/held", ["Content-Encoding: gzip", "Content-Length: \(Self.size)"])
                        + body.prefix(1000))
                #expect(try socket.readAnswer().status == 400)
            }
            try await Self.isTaken(0, of: budget)
        }
    }

    @Test("Bodies of unknown length reserve memory as they arrive, compressed ones for their inflated size")
    func framing() async throws {
        try await Self.run { server, budget in
            let gate = Gate()
            async let chunked = TestSocket.with(port: server.port) { socket in
                try socket.send(
                    FileServer.head("POST", "/held", ["Transfer-Encoding: chunked"]) + Array("186a0\r\n".utf8)
                        + [UInt8](repeating: 1, count: 100_000))
                gate.wait()
                try socket.send(Array("\r\n0\r\n\r\n".utf8))
                return try socket.readAnswer().text
            }
            try await Self.isTaken(1 << 20, of: budget)
            gate.open()
            #expect(try await chunked == "100000")
            try await Self.isTaken(0, of: budget)
            // A body that is small when compressed may find no room when decompressed.
            let held = Gate()
            async let first = Self.send(server, [UInt8](repeating: 1, count: Self.size), stoppingAt: held)
            try await Self.isTaken(Self.size, of: budget)
            let zeroes = try Gzip.zeroes(restoringTo: 2 * Self.size)
            #expect(zeroes.count < 60_000)
            let fields = ["Content-Encoding: gzip", "Content-Length: \(zeroes.count)"]
            #expect(try await server.answer("POST", "/held", fields, body: zeroes).status == 503)
            held.open()
            #expect(try await first.status == 200)
            #expect(try await server.answer("POST", "/held", fields, body: zeroes).text == "\(2 * Self.size)")
        }
    }

    @Test("An answer is counted until it is read or its client is gone, and one that is prepared until it is made")
    func answers() async throws {
        try await Self.run { server, budget in
            let gate = Gate()
            async let unread: Void = TestSocket.with(port: server.port, receiveBuffer: 16 << 10) { socket in
                try socket.send(FileServer.head("GET", "/large"))
                gate.wait()
            }
            async let read = TestSocket.with(port: server.port, receiveBuffer: 16 << 10) { socket in
                try socket.send(FileServer.head("GET", "/large"))
                gate.wait()
                return try socket.readAnswer().body.count
            }
            try await Self.isTaken(2 * Self.size, of: budget)
            #expect(try await server.answer("GET", "/prepared").status == 503)
            #expect(try await server.answer("HEAD", "/large").status == 200)
            #expect(budget.takenBytes == 2 * Self.size)
            gate.open()
            try await unread
            #expect(try await read == Self.size)
            try await Self.isTaken(0, of: budget)
            #expect(try await server.answer("GET", "/prepared").text == "prepared")
        }
    }

    @Test("An answer is counted as long as the event loop has not come to it, however much of it was handed over")
    func paced() async throws {
        let gate = Gate()
        try await Self.run(late: gate) { server, budget in
            defer { gate.open() }
            async let read = server.answer("GET", "/late")
            try await Self.isTaken(Self.size, of: budget)
            // Nothing tells that nothing is given back.
            try await Task.sleep(for: .milliseconds(100))
            #expect(budget.takenBytes == Self.size)
            gate.open()
            #expect(try await read.body.count == Self.size)
            try await Self.isTaken(0, of: budget)
        }
    }

    // MARK: Slow bodies

    private static func body(_ parts: AsyncStream<ByteBuffer>, watch: Duration) -> IncomingBody {
        IncomingBody(RequestBody(asyncSequence: parts), headers: [:], limit: 1 << 30, watch: watch)
    }

    @Test("A body that came fast at first and then hardly at all is given up")
    func trickle() async throws {
        let (parts, part) = AsyncStream.makeStream(of: ByteBuffer.self)
        part.yield(ByteBuffer(repeating: 1, count: 10_000_000))
        let trickling = Task {
            while !Task.isCancelled {
                try await Task.sleep(for: .milliseconds(5))
                part.yield(ByteBuffer(repeating: 1, count: 1))
            }
        }
        var body = Self.body(parts, watch: .milliseconds(100))
        let refusal = await #expect(throws: Refusal.self) { while try await body.next() != nil {} }
        #expect(refusal?.status == .requestTimeout)
        trickling.cancel()
    }

    @Test("Time that the server takes for itself is not the client's")
    func ownTime() async throws {
        let (parts, part) = AsyncStream.makeStream(of: ByteBuffer.self)
        for _ in 0..<10 { part.yield(ByteBuffer(repeating: 1, count: 1)) }
        part.finish()
        var body = Self.body(parts, watch: .seconds(2))
        while try await body.next() != nil { try await Task.sleep(for: .milliseconds(400)) }
        #expect(body.received == 10)
    }
}
