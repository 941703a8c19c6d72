/// A condition that a test waited for did not become true.
public struct NeverHappened: Error {}

/// Waits until a condition holds. The limit is for tests that fail: no machine is so busy that it needs the whole time.
/// - Throws: ``NeverHappened`` after two minutes, or the condition's error.
public func eventually(_ condition: () async throws -> Bool) async throws {
    let start = ContinuousClock.now
    while try await !condition() {
        guard ContinuousClock.now - start < .seconds(120) else { throw NeverHappened() }
        try await Task.sleep(for: .milliseconds(5))
    }
}
