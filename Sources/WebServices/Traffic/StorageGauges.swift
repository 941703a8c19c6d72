internal import RecordStore
internal import Records

/// How much is stored, for those who watch servers: summed up now and then, however often it is asked for.
///
/// Stores may keep what their zones hold, so that no record is looked at; but there may be very many zones. Summing them up takes a hundredth of
/// the time at the most.
actor StorageGauges {
    struct Reading: Sendable {
        var stores: [StoreStorage] = []
        /// How old they are; `nil` when nothing is known.
        var age: Duration?
    }

    /// Types and names of zones that are told of each database.
    static let limit = 50

    private let engine: (any StorageReporting)?
    private let interval: Duration
    private let now: @Sendable () -> ContinuousClock.Instant
    private var stores: [StoreStorage] = []
    private var measured: ContinuousClock.Instant?
    private var next: ContinuousClock.Instant?
    private var work: Task<Void, Never>?

    /// - Parameters:
    ///   - interval: the least time between two summings.
    ///   - now: the clock.
    init(
        _ engine: any RecordEngine, interval: Duration = .seconds(10), now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.engine = engine as? any StorageReporting
        self.interval = interval
        self.now = now
    }

    /// What is known, brought up to date first where that is due. Who asks while others wait for that waits with them only for the very first
    /// reading.
    func reading() async -> Reading {
        if work == nil, next.map({ now() >= $0 }) ?? true {
            await measure()
        } else if measured == nil {
            await work?.value
        }
        return Reading(stores: stores, age: measured.map { now() - $0 })
    }

    private func measure() async {
        guard let engine else { return }
        let begun = now()
        let measuring = Task {
            // A store that can't be read is left out; where nothing can be told, as by an engine that is being closed, the numbers of before stay.
            guard let found = try? await engine.storage(limit: Self.limit) else { return }
            (stores, measured) = (found, begun)
        }
        work = measuring
        await measuring.value
        work = nil
        next = now() + max(interval, (now() - begun) * 100)
    }
}
