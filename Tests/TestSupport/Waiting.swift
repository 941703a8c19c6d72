import Foundation

/// A condition that a test waited for did not become true.
public struct NeverHappened: Error {}

private let patience = Duration.seconds(120)

/// Waits until a condition holds. The limit is for tests that fail: no machine is so busy that it needs the whole time.
/// - Throws: ``NeverHappened`` after two minutes, or the condition's error.
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
