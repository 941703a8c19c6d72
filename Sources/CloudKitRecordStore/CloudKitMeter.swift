internal import CloudKitClient
internal import Synchronization

/// Measures the part of some work that is CloudKit's, and may limit its time.
///
///     let meter = CloudKitMeter(within: CloudKitMeter.pageTime)
///     let page = try await CloudKitMeter.$current.withValue(meter) { try await database.query(request) }
public final class CloudKitMeter: Sendable {
    /// The meter of the task; `nil` to measure nothing.
    @TaskLocal public static var current: CloudKitMeter?

    public struct Reading: Sendable, Hashable {
        /// Requests that were answered, repetitions included.
        public var requests = 0
        /// From the sending of each request to its last byte: CloudKit's part and the network's.
        public var answering: Duration = .zero
        /// Pauses before repetitions.
        public var waiting: Duration = .zero
    }

    /// The time for all requests of a page, for which somebody waits.
    public static let pageTime: Duration = .seconds(30)

    /// The time by which all answers must be there; `nil` to limit each request alone.
    let deadline: ContinuousClock.Instant?
    private let state = Mutex(Reading())

    /// - Parameter time: for all requests together, from now.
    public init(within time: Duration? = nil) {
        deadline = time.map { .now + $0 }
    }

    /// The sums so far.
    public var reading: Reading { state.withLock { $0 } }

    func note(_ event: RequestEvent) {
        state.withLock { reading in
            switch event {
            case .sending: break
            case .answered(_, _, _, let duration, _):
                reading.requests += 1
                reading.answering += duration
            case .waiting(_, let pause, _): reading.waiting += pause.length
            }
        }
    }
}
