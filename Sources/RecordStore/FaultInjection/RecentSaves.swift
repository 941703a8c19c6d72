internal import Records
internal import Synchronization

/// Previous versions of recently saved or deleted records, to simulate an index that lags behind.
final class RecentSaves: Sendable {
    /// Maximum number of records. The oldest are dropped and then missing from queries instead of shown in their old
    /// version.
    private static let limit = 10_000
    /// Approximate maximum total size in bytes.
    private static let byteLimit = 32 << 20
    /// Estimated bytes of a record besides its fields.
    private static let overhead = 512

    struct Place: Sendable, Hashable {
        let container: ContainerID
        let environment: Environment
        /// Includes the owner.
        let zoneID: ZoneID
    }

    private struct Entry {
        let place: Place
        let record: StoredRecord
        /// Time when this version was replaced.
        let until: Timestamp

        var bytes: Int { record.fields.bytes.count + RecentSaves.overhead }
    }

    private struct State {
        /// The oldest first.
        var entries: [Entry] = []
        var bytes = 0

        /// Drops versions replaced before the horizon, which no query needs any more.
        mutating func prune(to horizon: Timestamp) {
            guard entries.contains(where: { $0.until <= horizon }) else { return }
            entries.removeAll { $0.until <= horizon }
            bytes = entries.reduce(0) { $0 + $1.bytes }
        }

        mutating func makeRoom() {
            var excess = max(0, entries.count - RecentSaves.limit)
            bytes -= entries.prefix(excess).reduce(0) { $0 + $1.bytes }
            while bytes > RecentSaves.byteLimit, excess < entries.count {
                bytes -= entries[excess].bytes
                excess += 1
            }
            entries.removeFirst(excess)
        }
    }

    private let state = Mutex(State())

    /// Adds previous versions of records.
    func add(_ records: [StoredRecord], container: ContainerID, environment: Environment, until: Timestamp, horizon: Timestamp) {
        let added = records.map { record in
            Entry(place: Place(container: container, environment: environment, zoneID: record.recordID.zoneID), record: record, until: until)
        }
        state.withLock { state in
            state.prune(to: horizon)
            state.entries += added
            state.bytes += added.reduce(0) { $0 + $1.bytes }
            state.makeRoom()
        }
    }

    /// Drops all versions.
    func clear() {
        state.withLock { $0 = State() }
    }

    /// True if no version was replaced after the horizon.
    func isEmpty(since horizon: Timestamp) -> Bool {
        state.withLock { state in
            state.prune(to: horizon)
            return state.entries.isEmpty
        }
    }

    /// Versions at the horizon of records that were saved or deleted since.
    func records(at horizon: Timestamp, in places: Set<Place>) -> [RecordID: StoredRecord] {
        state.withLock { state in
            state.prune(to: horizon)
            // The earliest entry after the horizon contains the version at the horizon.
            return Dictionary(
                state.entries.filter { places.contains($0.place) }.map { ($0.record.recordID, $0.record) },
                uniquingKeysWith: { first, _ in first })
        }
    }
}
