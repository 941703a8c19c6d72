internal import Records
internal import Synchronization

/// What records were before they were saved or deleted a moment ago, for an index that does not know of it yet.
final class RecentSaves: Sendable {
    /// Records remembered. Beyond, the oldest are forgotten, and left out of queries rather than shown as they were.
    private static let limit = 10_000

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
    }

    private let entries = Mutex<[Entry]>([])

    /// Remembers records as they were.
    func add(_ records: [StoredRecord], container: ContainerID, environment: Environment, until: Timestamp, horizon: Timestamp) {
        entries.withLock { entries in
            entries.removeAll { $0.until <= horizon }
            entries += records.map { record in
                Entry(place: Place(container: container, environment: environment, zoneID: record.recordID.zoneID), record: record, until: until)
            }
            if entries.count > Self.limit { entries.removeFirst(entries.count - Self.limit) }
        }
    }

    /// Whether nothing is remembered from after a moment.
    func isEmpty(since horizon: Timestamp) -> Bool {
        entries.withLock { entries in !entries.contains { $0.until > horizon } }
    }

    /// Records as they were at a moment, of those that were saved or deleted since.
    func records(at horizon: Timestamp, in places: Set<Place>) -> [RecordID: StoredRecord] {
        entries.withLock { entries in
            // The earliest save since then tells what was there before it.
            Dictionary(
                entries.filter { $0.until > horizon && places.contains($0.place) }.map { ($0.record.recordID, $0.record) },
                uniquingKeysWith: { first, _ in first })
        }
    }
}
