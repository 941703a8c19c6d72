import Dispatch
import Records
import Synchronization
import TestSupport
import Testing

@testable import SQLRecordStore

/// Work of a store that blocks its threads until it is released.
final class HeldWork: Sendable {
    private let begun = Atomic<Int>(0)
    private let end = DispatchSemaphore(value: 0)

    /// The number of threads that were ever held.
    var count: Int { begun.load(ordering: .relaxed) }

    func hold() {
        begun.add(1, ordering: .relaxed)
        end.wait()
    }

    /// Releases as many threads, including those that are held later.
    func release(_ count: Int) { for _ in 0..<count { end.signal() } }
}

/// All turns of long reads of one kind, taken by reads that are held.
struct HeldTurns: Sendable {
    /// More reads than turns, so that some wait for theirs.
    fileprivate static let reads = 2 * LongReadTurns.limit

    fileprivate let turns: AsyncSemaphore
    fileprivate let held: HeldWork
    /// The number of held reads that wait for a turn.
    fileprivate let ownWaiting: Int

    /// The number of other reads that wait for a turn.
    var waitingCount: Int { turns.waitingCount - ownWaiting }

    func release() { held.release(Self.reads) }
}

extension SQLStore {
    /// Does something while all turns of long reads are taken.
    func holdingTurns(
        of purpose: LongReadTurns.Purpose, _ body: (HeldTurns) async throws -> Void
    ) async throws {
        let (turns, held) = (try #require(writableStore).longReads[purpose], HeldWork())
        try await withThrowingTaskGroup(of: Void.self) { group in
            // After an error the group would wait for the reads.
            defer { held.release(HeldTurns.reads) }
            for _ in 0..<HeldTurns.reads {
                group.addTask { try await self.readLong(for: purpose) { _, _ in held.hold() } }
            }
            try await eventually { turns.waitingCount > 0 && turns.waitingCount + held.count == HeldTurns.reads }
            try await body(HeldTurns(turns: turns, held: held, ownWaiting: turns.waitingCount))
            held.release(HeldTurns.reads)
            try await group.waitForAll()
        }
        #expect(turns.waitingCount == 0)
    }
}
