internal import JSON
internal import Records
internal import Synchronization

/// Pulls that were read completely in order to be reordered, held until clients have fetched their pages.
///
/// If a pull is no longer held (because of newer ones or a restart), it starts again at its beginning: the client
/// gets some changes twice but misses none. A first pull can't be restarted this way, because deletions of records
/// already delivered would be left out. Its token expires.
final class OrderedPulls: Sendable {
    /// Maximum number of pulls held and their total size in bytes. The least recently used ones are dropped.
    private static let limit = 256
    private static let totalByteLimit = 64 << 20

    /// Estimated bytes of a change besides its fields.
    private static let overhead = 512

    /// Maximum number of changes and bytes of fields in one pull. Larger pulls are reordered in parts of this size.
    static let changeLimit = 20_000
    static let byteLimit = 32 << 20

    /// The changes of a pull in the order of delivery.
    struct Pull: Sendable {
        let address: DatabaseAddress
        let userRecordName: Name
        let zoneID: ZoneID
        let since: ChangeToken?
        let changes: [RecordChange]
        /// The engine's token after all changes.
        let syncToken: ChangeToken
        let moreComing: Bool
    }

    private struct Held {
        let number: UInt64
        let pull: Pull
        let bytes: Int
    }

    private struct State {
        /// The most recently used one is last.
        var held: [Held] = []
        var bytes = 0
    }

    private let state = Mutex(State())

    func keep(_ pull: Pull) -> UInt64 {
        let number = UInt64.random(in: .min ... .max)
        let bytes = pull.changes.reduce(0) { $0 + $1.bytes + Self.overhead }
        state.withLock { state in
            state.held.append(Held(number: number, pull: pull, bytes: bytes))
            state.bytes += bytes
            while state.held.count > 1, state.held.count > Self.limit || state.bytes > Self.totalByteLimit {
                state.bytes -= state.held.removeFirst().bytes
            }
        }
        return number
    }

    func pull(_ number: UInt64) -> Pull? {
        state.withLock { state in
            guard let index = state.held.firstIndex(where: { $0.number == number }) else { return nil }
            let found = state.held.remove(at: index)
            state.held.append(found)
            return found.pull
        }
    }
}
