/// How fast work beside the saves goes: slower while others save.
struct WorkPace {
    /// What one step may take of the writer's time while others save, and otherwise.
    private static let busyStep = Duration.milliseconds(2)
    private static let quietStep = Duration.milliseconds(20)
    /// How long to rest after a step while others save, in times of the step.
    private static let restFactor = 2

    private let store: SQLiteStore
    private let clock = ContinuousClock()
    private var last: ContinuousClock.Instant
    private var saves: Int
    private var isBusy = true

    init(_ store: SQLiteStore) {
        self.store = store
        last = clock.now
        saves = store.writeCount
    }

    /// What the next step may take of the writer's time.
    var budget: Duration { isBusy ? Self.busyStep : Self.quietStep }

    /// Waits between two steps.
    mutating func rest() async {
        let now = store.writeCount
        // One of them was the step itself, where it was a write.
        isBusy = now - saves > 1
        saves = now
        // Being closed ends the rest.
        if isBusy { try? await Task.sleep(for: (clock.now - last) * Self.restFactor) } else { await Task.yield() }
        last = clock.now
    }
}
