internal import RecordStore
internal import Records
internal import Synchronization

/// Download addresses that are gone before they expire.
///
/// Kept in memory only: after a restart they are good again until they expire.
final class WithdrawnAddresses: Sendable {
    /// Maximum number of addresses. Beyond it, some are good again.
    private static let limit = 10_000

    private let tickets = Mutex<Set<DownloadTicket>>([])

    func add(_ ticket: DownloadTicket, at now: Timestamp) {
        tickets.withLock { tickets in
            if tickets.count >= Self.limit { tickets = tickets.filter { $0.expires > now } }
            if tickets.count >= Self.limit { tickets.removeFirst() }
            tickets.insert(ticket)
        }
    }

    func contains(_ ticket: DownloadTicket) -> Bool {
        tickets.withLock { $0.contains(ticket) }
    }

    /// The same ticket, or one that expires some milliseconds later and therefore has another address.
    func replacement(for ticket: DownloadTicket) -> DownloadTicket {
        tickets.withLock { tickets in
            var ticket = ticket
            while tickets.contains(ticket) { ticket.expires.milliseconds += 1 }
            return ticket
        }
    }
}
