internal import JSON
internal import Records
internal import Synchronization

/// Pulls that were read as a whole to be given in another order, until clients have taken their pages.
///
/// A pull that is not held any more (there are others, or the server was started anew) begins again where it began: what was given comes a
/// second time, and nothing is missed. A first pull can't: begun anew, it would leave out deletions of what was given. It is expired.
final class OrderedPulls: Sendable {
    /// Pulls held at a time, and bytes of all of them; those that were longest not asked for make room.
    private static let limit = 256
    private static let totalByteLimit = 64 << 20

    /// What a change takes beside its fields, about.
    private static let overhead = 512

    /// Changes and bytes of fields of one pull. A larger one is ordered in parts of this size.
    static let changeLimit = 20_000
    static let byteLimit = 32 << 20

    /// The changes of a pull, in the order in which they are given.
    struct Pull: Sendable {
        let address: DatabaseAddress
        let userRecordName: Name
        let zoneID: ZoneID
        let since: ChangeToken?
        let changes: [RecordChange]
        /// The engine's token after all of them.
        let syncToken: ChangeToken
        let moreComing: Bool
    }

    private struct Held {
        let number: UInt64
        let pull: Pull
        let bytes: Int
    }

    private struct State {
        /// The one asked for last stands last.
        var held: [Held] = []
        var bytes = 0
    }

    private let state = Mutex(State())

    func keep(_ pull: Pull) -> UInt64 {
        let number = UInt64.random(in: .min ... .max)
        let bytes = pull.changes.reduce(0) { $0 + $1.record.fields.bytes.count + Self.overhead }
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
