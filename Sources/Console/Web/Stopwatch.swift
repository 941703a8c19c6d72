internal import CloudKitRecordStore
internal import Synchronization

/// Measures the total time that a page waits for its database.
package final class Stopwatch: Sendable {
    private let total = Mutex<Duration>(.zero)
    /// The part of it that is CloudKit's.
    let cloudKit: CloudKitMeter

    /// - Parameter time: for all requests to CloudKit, from now; `nil` to limit each request alone.
    package init(cloudKitWithin time: Duration? = nil) {
        cloudKit = CloudKitMeter(within: time)
    }

    package func measure<Value: Sendable>(_ body: @Sendable () async throws -> Value) async rethrows -> Value {
        let start = ContinuousClock.now
        defer { add(.now - start) }
        return try await CloudKitMeter.$current.withValue(cloudKit, operation: body)
    }

    private func add(_ duration: Duration) {
        total.withLock { $0 += duration }
    }

    package var elapsed: Duration { total.withLock { $0 } }
}

extension Duration {
    var milliseconds: Double {
        Double(components.seconds) * 1000 + Double(components.attoseconds) / 1e15
    }

    /// The milliseconds in the format of page footers: `0.04`, `1.8`, `212`, `30,017`.
    package var millisecondsText: String {
        let milliseconds = milliseconds
        let digits = milliseconds < 1 ? 2 : milliseconds < 100 ? 1 : 0
        return milliseconds < 1000 || milliseconds >= 1e15 ? Digits.fixed(milliseconds, digits) : Digits.grouped(Int64(milliseconds.rounded()))
    }
}
