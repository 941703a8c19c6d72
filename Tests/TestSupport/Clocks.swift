import Foundation
public import Records
internal import Synchronization

/// The current time with an offset that a test can change.
public final class MovingClock: Sendable {
    private let ahead = Mutex(Duration.zero)

    public init() {}

    public func now() -> Timestamp {
        Timestamp(milliseconds: Timestamp.now().milliseconds + Int64(ahead.withLock { $0 } / .milliseconds(1)))
    }
    public func advance(by duration: Duration) { ahead.withLock { $0 += duration } }
}

/// A steady clock that only moves when told to.
public final class ManualClock: Sendable {
    private let begin = ContinuousClock.now
    private let passed = Mutex(Duration.zero)

    public init() {}

    public var now: ContinuousClock.Instant { begin + passed.withLock { $0 } }
    public func advance(by duration: Duration) { passed.withLock { $0 += duration } }
}

/// The processor time that the calling thread has used. The work of other tests does not count.
public func processorTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}

/// A condition that a test waited for did not become true.
public struct NeverHappened: Error {}

/// How long a test waits for what should happen. The limit is for tests that fail: no machine is so busy that it needs
/// the whole time.
public let patience = Duration.seconds(120)

/// Waits until a condition holds.
/// - Throws: ``NeverHappened`` after ``patience``, or the condition's error.
public func eventually(_ condition: () async throws -> Bool) async throws {
    let start = ContinuousClock.now
    // Most conditions hold soon. Later looks may cost more than they tell.
    var pause = Duration.milliseconds(1)
    while try await !condition() {
        guard ContinuousClock.now - start < patience else { throw NeverHappened() }
        try await Task.sleep(for: pause)
        pause = min(pause * 2, .milliseconds(20))
    }
}

/// ``eventually(_:)`` for a thread that may block, such as that of a client with a socket.
public func eventuallyBlocking(_ condition: () throws -> Bool) throws {
    let start = ContinuousClock.now
    while try !condition() {
        guard ContinuousClock.now - start < patience else { throw NeverHappened() }
        Thread.sleep(forTimeInterval: 0.001)
    }
}
