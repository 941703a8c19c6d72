internal import CloudKitClient
public import JSON
public import Records
internal import Synchronization

/// The progress of a pull or push. The total is unknown, because CloudKit does not count records.
public struct MirrorProgress: Sendable, Hashable {
    public enum Stage: Sendable, Hashable {
        case starting
        case listingZones(DatabaseScope)
        case zone(ZoneID, DatabaseScope)
        /// A type of the public database.
        case type(Name)
        /// The names of a type or zone are compared, to find deletions.
        case comparingNames
        case sending
    }

    public var stage = Stage.starting
    /// Versions received so far, deletions included.
    public var records = 0
    public var files = 0
    public var fileBytes: Int64 = 0
    /// Requests sent, repetitions included.
    public var requests = 0
    /// The time in which the origin answered.
    public var answering: Duration = .zero
    /// The time of the pauses that the origin asked for, or that its failures made necessary.
    public var pausing: Duration = .zero
    /// The end of the present pause; `nil` if there is none.
    public var pausedUntil: ContinuousClock.Instant?
    public var started: ContinuousClock.Instant

    /// Records per second since the start.
    public func rate(at now: ContinuousClock.Instant = .now) -> Double {
        let elapsed = (now - started) / .seconds(1)
        return elapsed > 0 ? Double(records) / elapsed : 0
    }
}

/// Counts the progress, and tells it to all who listen.
final class MirrorMeter: Sendable {
    private struct State {
        var progress = MirrorProgress(started: .now)
        var listeners: [Int: AsyncStream<MirrorProgress>.Continuation] = [:]
        var number = 0
    }

    private let state = Mutex(State())

    /// The progress from now on. A slow listener gets the latest values only.
    func listen() -> AsyncStream<MirrorProgress> {
        let (stream, continuation) = AsyncStream.makeStream(of: MirrorProgress.self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.number += 1
            state.listeners[state.number] = continuation
            return state.number
        }
        continuation.onTermination = { [weak self] _ in self?.state.withLock { _ = $0.listeners.removeValue(forKey: number) } }
        return stream
    }

    var progress: MirrorProgress { state.withLock { $0.progress } }

    func begin() {
        change { $0 = MirrorProgress(started: .now) }
    }

    func change(_ body: (inout MirrorProgress) -> Void) {
        let (progress, listeners) = state.withLock { state in
            body(&state.progress)
            return (state.progress, Array(state.listeners.values))
        }
        for listener in listeners { listener.yield(progress) }
    }

    func note(_ event: RequestEvent) {
        change { progress in
            progress.pausedUntil = nil
            switch event {
            case .sending: progress.requests += 1
            case .answered(_, _, _, let duration, _): progress.answering += duration
            case .waiting(_, let pause, _):
                progress.pausing += pause.length
                progress.pausedUntil = .now + pause.length
            }
        }
    }
}
