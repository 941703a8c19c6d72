internal import Records
internal import Synchronization

/// What records were before they were saved or deleted a moment ago, for an index that does not know of it yet.
final class RecentSaves: Sendable {
    /// Records remembered. Beyond, the oldest are forgotten, and left out of queries rather than shown as they were.
    private static let limit = 10_000
    /// Bytes of all of them, about.
    private static let byteLimit = 32 << 20
    /// What a record takes beside its fields, about.
    private static let overhead = 512

    struct Place: Sendable, Hashable {
        let container: ContainerID
        let environment: Environment
        /// With its owner.
        let zoneID: ZoneID
    }

    private struct Entry {
        let place: Place
        let record: StoredRecord
        /// When it ceased to be so.
        let until: Timestamp

        var bytes: Int { record.fields.bytes.count + RecentSaves.overhead }
    }

    private struct State {
        /// The oldest first.
        var entries: [Entry] = []
        var bytes = 0

        /// Forgets what nobody asks about any more.
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

    /// Remembers records as they were.
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

    /// Forgets everything.
    func clear() {
        state.withLock { $0 = State() }
    }

    /// Whether nothing is remembered from after a moment.
    func isEmpty(since horizon: Timestamp) -> Bool {
        state.withLock { state in
            state.prune(to: horizon)
            return state.entries.isEmpty
        }
    }

    /// Records as they were at a moment, of those that were saved or deleted since.
    func records(at horizon: Timestamp, in places: Set<Place>) -> [RecordID: StoredRecord] {
        state.withLock { state in
            state.prune(to: horizon)
            // The earliest save since then tells what was there before it.
            return Dictionary(
                state.entries.filter { places.contains($0.place) }.map { ($0.record.recordID, $0.record) },
                uniquingKeysWith: { first, _ in first })
        }
    }
}
