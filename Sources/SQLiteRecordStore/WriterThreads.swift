internal import Dispatch
internal import Foundation
internal import Synchronization

/// The threads that write, shared by all stores. One is started when a store has something to write and no other is free; it ends when there is
/// nothing for a while. Each store has one at a time, so its saves keep their order.
///
/// They are threads and not tasks, because they spend their time waiting for the disk: tasks share as many threads as there are cores.
final class WriterThreads: Sendable {
    /// Threads at a time. More stores than that take turns, commit by commit.
    private static let limit = 8
    private static let patience = DispatchTimeInterval.seconds(10)

    private struct State {
        /// Those with something to write, the longest waiting first.
        var waiting: [CommitWriter] = []
        /// Threads, and how many of them wait for a signal that was not sent yet.
        var count = 0
        var idle = 0
    }

    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)

    /// Threads at present.
    var count: Int { state.withLock { $0.count } }

    /// Lets a writer commit until it has nothing more. It must not be scheduled already.
    func schedule(_ writer: CommitWriter) {
        let (wakes, starts) = state.withLock { state in
            state.waiting.append(writer)
            if state.idle > 0 {
                state.idle -= 1
                return (true, false)
            }
            guard state.count < Self.limit else { return (false, false) }
            state.count += 1
            return (false, true)
        }
        if wakes { wake.signal() }
        if starts { start() }
    }

    private func start() {
        let thread = Thread { [self] in
            while let writer = next() {
                // Behind those that wait: no store keeps another from its turn.
                if writer.commitNext() { state.withLock { $0.waiting.append(writer) } }
            }
        }
        thread.name = "Skylight writer"
        thread.qualityOfService = .userInitiated
        thread.start()
    }

    private func next() -> CommitWriter? {
        while true {
            let writer: CommitWriter? = state.withLock { state in
                if !state.waiting.isEmpty { return state.waiting.removeFirst() }
                state.idle += 1
                return nil
            }
            if let writer { return writer }
            if wake.wait(timeout: .now() + Self.patience) == .success { continue }
            let ends = state.withLock { state in
                guard state.idle > 0 else { return false }
                state.idle -= 1
                state.count -= 1
                return true
            }
            if ends { return nil }
            // Somebody counts on this thread: the signal is on its way.
            wake.wait()
        }
    }
}
