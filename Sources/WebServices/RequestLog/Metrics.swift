internal import HTTPServing
internal import Hummingbird
internal import RecordStore
internal import Records
internal import RequestLog

/// `/metrics`: the metrics of the web services in the Prometheus text format (docs/requests.md).
enum Metrics {
    private typealias Labels = [(name: String, value: String)]

    static func response(_ log: RequestLog, stores: [StoreHealth], storage: StorageGauges.Reading) -> Response {
        var text = PrometheusText()
        text.metric("skylight_clients", "gauge", "Recently seen clients, one for each user and database.")
        text.sample("skylight_clients", [], String(log.clients.clients.count))
        let states: [(name: String, help: String, isSo: (StoreHealth) -> Bool)] = [
            ("read_only", "1 if an open store is read-only.", { $0.readOnlyBecause != nil }),
            ("unreadable", "1 if a store can't be opened or read.", { $0.unreadableBecause != nil }),
        ]
        for state in states {
            text.metric("skylight_store_\(state.name)", "gauge", state.help)
            for store in stores {
                let labels = [("container", store.container.description), ("environment", store.environment.rawValue)]
                text.sample("skylight_store_\(state.name)", labels, state.isSo(store) ? "1" : "0")
            }
        }
        if let age = storage.age { write(storage.stores, age: age, into: &text) }
        return .content(
            (log.telemetry.prometheusText + text.text).utf8, type: "text/plain; version=0.0.4; charset=utf-8")
    }

    private static func write(_ stores: [StoreStorage], age: Duration, into text: inout PrometheusText) {
        text.metric("skylight_storage_age_seconds", "gauge", "Age of the storage numbers.")
        text.sample("skylight_storage_age_seconds", [], String(age.components.seconds))
        let measures: [(what: String, help: String, value: (RecordTotals) -> Int64)] = [
            ("records", "Stored records", { Int64($0.records) }),
            ("record_bytes", "Bytes of record fields", \.bytes),
            ("asset_bytes", "Bytes of asset files, counted for each record that refers to them", \.assetBytes),
        ]
        for (what, help, value) in measures {
            text.metric("skylight_database_\(what)", "gauge", "\(help), in all.")
            for store in stores {
                text.sample("skylight_database_\(what)", place(of: store), String(value(store.total)))
            }
        }
        for (prefix, label, parts) in [
            ("skylight_", "type", \StoreStorage.types), ("skylight_zone_", "zone", \StoreStorage.zones),
        ] as [(String, String, KeyPath<StoreStorage, [Name: RecordTotals]>)] {
            for (what, help, value) in measures {
                let name = prefix + what
                text.metric(name, "gauge", "\(help), by \(label), the \(StorageGauges.limit) largest.")
                for store in stores {
                    for (key, amount) in store[keyPath: parts].sorted(by: { $0.key < $1.key }) {
                        text.sample(name, place(of: store) + [(label, key.string)], String(value(amount)))
                    }
                }
            }
        }
    }

    private static func place(of store: StoreStorage) -> Labels {
        [
            ("container", store.container.description), ("environment", store.environment.rawValue),
            ("database", store.scope.rawValue),
        ]
    }
}

// MARK: - Sizes of stores

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
        _ engine: any RecordEngine, interval: Duration = .seconds(10),
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
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
        guard engine.can(.measureStores) else { return }
        let begun = now()
        let measuring = Task {
            // Unreadable stores are left out. If the engine reports nothing, for example while it closes, the previous
            // values stay.
            guard let found = try? await engine.require(.measureStores).storage(limit: Self.limit) else { return }
            (stores, measured) = (found, begun)
        }
        work = measuring
        await measuring.value
        work = nil
        next = now() + max(interval, (now() - begun) * 100)
    }
}
