import Records
import Synchronization
import TestSupport
import Testing

/// Tasks that wait for their turn.
@Suite struct AsyncSemaphoreTests {
    private static let refusal = RecordError(.tryAgainLater, "Too many wait", retryAfter: 1)

    /// The order of the tasks that ran.
    private final class Log: Sendable {
        private let held = Mutex([Int]())

        var numbers: [Int] { held.withLock { $0 } }

        func add(_ number: Int) { held.withLock { $0.append(number) } }
    }

    @Test("Turns are given in order, cancelled ones are passed over, and too many are sent away")
    func turns() async throws {
        let semaphore = AsyncSemaphore(limit: 1, waiting: 3, refusal: Self.refusal)
        let order = Log()
        let gate = AsyncStream.makeStream(of: Void.self)
        let first = Task {
            try await semaphore.run {
                order.add(0)
                for await _ in gate.stream {}
            }
        }
        // Tasks begin in any order.
        try await eventually { order.numbers == [0] }
        var tasks: [Task<Void, any Error>] = []
        for number in 1...3 {
            tasks.append(Task { try await semaphore.run { order.add(number) } })
            try await eventually { semaphore.waitingCount == number }
        }
        await #expect { try await semaphore.run {} } throws: { ($0 as? RecordError) == Self.refusal }
        tasks[1].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[1].value }
        #expect(semaphore.waitingCount == 2)
        gate.continuation.finish()
        try await first.value
        for task in [tasks[0], tasks[2]] { try await task.value }
        #expect(order.numbers == [0, 1, 3])
        // The semaphore is free again.
        try await semaphore.run { order.add(9) }
        #expect(order.numbers.last == 9)
    }

    @Test("Whoever was cancelled before takes no turn")
    func cancelledBefore() async throws {
        let semaphore = AsyncSemaphore(limit: 1, refusal: Self.refusal)
        let runs = Log()
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            try await semaphore.run { runs.add(1) }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(runs.numbers.isEmpty)
        try await semaphore.run { runs.add(1) }
        #expect(runs.numbers == [1])
    }
}
