internal import RecordStore
internal import Records

/// The storage metrics for monitoring. They are cached, however often clients ask for them.
///
/// Engines may keep totals per zone, so that no records are read. But an environment
/// may have very many zones, so the sums take at most one percent of the time.
actor StorageGauges {
    struct Reading: Sendable {
        var stores: [StoreStorage] = []
        /// The age of the values; `nil` if there are none yet.
        var age: Duration?
    }

    /// The maximum number of types and zone names per database.
    static let limit = 50

    private let engine: any RecordEngine
    private let interval: Duration
    private let now: @Sendable () -> ContinuousClock.Instant
    private var stores: [StoreStorage] = []
    private var measured: ContinuousClock.Instant?
    private var next: ContinuousClock.Instant?
    private var work: Task<Void, Never>?

    /// - Parameters:
    ///   - interval: the minimum time between two updates.
    ///   - now: the clock.
    init(
        _ engine: any RecordEngine, interval: Duration = .seconds(10), now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.engine = engine
        self.interval = interval
        self.now = now
    }

    /// The cached values, updated first if they are due. If an update is in progress,
    /// callers get the previous values; only the very first reading waits for it.
    func reading() async -> Reading {
        if work == nil, next.map({ now() >= $0 }) ?? true {
            await measure()
        } else if measured == nil {
            await work?.value
        }
        return Reading(stores: stores, age: measured.map { now() - $0 })
    }

    private func measure() async {
        guard engine.can(.measureStorage) else { return }
        let begun = now()
        let measuring = Task {
            // Unreadable stores are left out. If the engine reports nothing, for example while it closes, the previous values stay.
            guard let found = try? await engine.storage(limit: Self.limit) else { return }
            (stores, measured) = (found, begun)
        }
        work = measuring
        await measuring.value
        work = nil
        next = now() + max(interval, (now() - begun) * 100)
    }
}
