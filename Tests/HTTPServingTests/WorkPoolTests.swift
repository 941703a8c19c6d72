import Foundation
import HTTPServing
import HTTPTypes
import Hummingbird
import LoopbackServing
import Records
import Synchronization
import TestSupport
import Testing

/// Work that would block other requests.
@Suite("Work pools", .timeLimit(.minutes(5)))
struct WorkPoolTests {
    /// Jobs that run until they are released.
    private final class Workshop: Sendable {
        private let gate: AsyncStream<Void>
        private let opener: AsyncStream<Void>.Continuation
        private let counts = Mutex((begun: 0, cancelled: 0))
        private let begins: AsyncStream<Void>
        private let begin: AsyncStream<Void>.Continuation

        var begun: Int { counts.withLock { $0.begun } }
        var cancelled: Int { counts.withLock { $0.cancelled } }

        init() {
            (gate, opener) = AsyncStream.makeStream(of: Void.self)
            (begins, begin) = AsyncStream.makeStream(of: Void.self)
        }

        /// Runs until the workshop closes or the task is cancelled.
        func work() async throws {
            counts.withLock { $0.begun += 1 }
            begin.yield()
            for await _ in gate {}
            if Task.isCancelled { counts.withLock { $0.cancelled += 1 } }
            try Task.checkCancellation()
        }

        func isBegun(times: Int = 1) async {
            var left = times
            for await _ in begins {
                left -= 1
                if left == 0 { return }
            }
        }

        func close() { opener.finish() }
    }

    @Test("Jobs beyond the running and waiting limits are refused")
    func bounded() async throws {
        let pool = WorkPool(threads: 4, atATime: 2, waiting: 3)
        let workshop = Workshop()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<2 { group.addTask { try await pool.run { try await workshop.work() } } }
            await workshop.isBegun(times: 2)
            let waiting = (0..<3).map { _ in Task { try await pool.run { try await workshop.work() } } }
            try await eventually { pool.waitingCount >= 3 }
            let refusal = await #expect(throws: RecordError.self) {
                try await pool.run { Issue.record("There is no room") }
            }
            #expect(refusal?.code == .tryAgainLater && refusal?.retryAfter != nil)
            // A cancelled waiting job makes room at once, even while the others still run.
            waiting[1].cancel()
            await #expect(throws: CancellationError.self) { try await waiting[1].value }
            #expect(pool.waitingCount == 2 && workshop.begun == 2)
            workshop.close()
            for index in [0, 2] { try await waiting[index].value }
            try await group.waitForAll()
        }
        #expect(workshop.begun == 4 && workshop.cancelled == 0 && pool.waitingCount == 0)
    }

    @Test("Work is done on threads of its own, and sees that it is cancelled")
    func threads() async throws {
        let pool = WorkPool(threads: 1, waiting: 1)
        // The job occupies the only thread, and everything else continues.
        let begun = Atomic(false)
        let working = Task {
            try await pool.run {
                begun.store(true, ordering: .relaxed)
                while !Task.isCancelled {}
                throw CancellationError()
            }
        }
        try await eventually { begun.load(ordering: .relaxed) }
        #expect(try await pool.run(on: 1000) { 7 } == 7, "what is small stays where it is")
        let large = Task { try await pool.run(on: 1 << 20) { 8 } }
        try await eventually { pool.waitingCount > 0 }
        working.cancel()
        await #expect(throws: CancellationError.self) { try await working.value }
        #expect(try await large.value == 8)
    }

    @Test("Long work is cancelled when the client disconnects")
    func hangUp() async throws {
        let workshop = Workshop()
        try await FileServer.run(routes: { router in
            router.get("long") { _, context in
                try await context.lengthy { try await workshop.work() }
                return Response.text("done")
            }
        }) { server in
            try await TestSocket.with(port: server.port) { socket in
                try socket.send(FileServer.head("GET", "/long"))
                try eventuallyBlocking { workshop.begun == 1 }
            }
            try await eventually { workshop.cancelled == 1 }
            // The job of another client is not cancelled.
            async let answer = server.answer("GET", "/long")
            try await eventually { workshop.begun == 2 }
            workshop.close()
            #expect(try await answer.text == "done")
        }
        #expect(workshop.cancelled == 1)
    }

    @Test("Long work does not start for a disconnected client")
    func goneBefore() async throws {
        let workshop = Workshop()
        let isBegun = Atomic(false)
        let (outcomes, outcome) = AsyncStream.makeStream(of: Bool.self)
        try await FileServer.run(routes: { router in
            router.get("long") { _, context in
                isBegun.store(true, ordering: .relaxed)
                try await context.channel.closeFuture.get()
                do {
                    try await context.lengthy { try await workshop.work() }
                    outcome.yield(false)
                } catch {
                    outcome.yield(error is CancellationError)
                }
                outcome.finish()
                return Response.text("done")
            }
        }) { server in
            try await TestSocket.with(port: server.port) { socket in
                socket.endWithReset()
                try socket.send(FileServer.head("GET", "/long"))
                try eventuallyBlocking { isBegun.load(ordering: .relaxed) }
            }
            // Jobs that are not cancelled must end as well, and are reported as such.
            let end = Task {
                try await Task.sleep(for: .seconds(120))
                workshop.close()
            }
            for await isCancelled in outcomes { #expect(isCancelled) }
            end.cancel()
        }
    }

    @Test("Long work ends with the server, and its client gets an error")
    func shutdown() async throws {
        let workshop = Workshop()
        let router = Routes()
        router.addGuards(trusting: .loopback)
        router.get("database/long") { _, context in
            do {
                try await context.lengthy { try await workshop.work() }
                return Response.text("done")
            } catch let error as RecordError {
                return Response.text(error.code.rawValue, status: error.code.httpStatus)
            }
        }
        let (answers, answer) = AsyncStream.makeStream(of: String.self)
        try await LoopbackServer.run(router, server: .guardedHTTP1()) { port in
            Task {
                let text = try? await TestSocket.with(port: port) { socket in
                    try socket.send(FileServer.head("GET", "/database/long"))
                    return try socket.readAnswer().text
                }
                answer.yield(text ?? "the connection was cut")
                answer.finish()
            }
            await workshop.isBegun()
        }
        for await text in answers { #expect(text == "TRY_AGAIN_LATER") }
        #expect(workshop.cancelled == 1)
    }
}
