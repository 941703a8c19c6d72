/// The pace of background work. It slows down while other saves are running.
struct WorkPace {
    /// Writer time per step while other saves are running, and otherwise.
    private static let busyStep = Duration.milliseconds(2)
    private static let quietStep = Duration.milliseconds(20)
    /// Pause after a step while other saves are running, as a multiple of the step's duration.
    private static let restFactor = 2

    private let store: SQLStore
    private let clock = ContinuousClock()
    private var last: ContinuousClock.Instant
    private var saves: Int
    private var isBusy = true

    init(_ store: SQLStore) {
        self.store = store
        last = clock.now
        saves = store.writeCount
    }

    /// Writer time for the next step.
    var budget: Duration { isBusy ? Self.busyStep : Self.quietStep }

    /// Pauses between two steps.
    mutating func rest() async {
        let now = store.writeCount
        // If the step was a write, one of them is its own.
        isBusy = now - saves > 1
        saves = now
        // Closing the store cancels the sleep.
        if isBusy { try? await Task.sleep(for: (clock.now - last) * Self.restFactor) } else { await Task.yield() }
        last = clock.now
    }
}
