import JSON
import Records
import RecordStore

/// The changes of a zone, or of a database if there is no zone.
struct ChangeFeed: Sendable {
    /// Changes per page.
    private static let pageSize = 500

    let database: any RecordDatabase
    let zoneID: ZoneID?
    /// The delay before a retry after an error; `nil` to end with the error.
    var pause: @Sendable (RecordError) async -> Duration? = { _ in nil }

    enum Changes: Sendable {
        case records([RecordChange])
        case zones([ZoneChange])

        var count: Int {
            switch self {
            case .records(let changes): changes.count
            case .zones(let changes): changes.count
            }
        }
    }

    struct Page: FeedPage {
        let changes: Changes
        let syncToken: ChangeToken
        let moreComing: Bool
    }

    /// Reads all pages from a token to the present.
    func read(since token: ChangeToken?, _ take: (Page) async throws -> Void) async throws {
        try await page(since: token).andLater { try await page(since: $0.syncToken) } take: { page in
            try await take(page)
            return true
        }
    }

    private func page(since token: ChangeToken?) async throws -> Page {
        while true {
            do {
                return try await fetchPage(since: token)
            } catch let error as RecordError {
                guard let duration = await pause(error) else { throw error }
                try await Task.sleep(for: duration)
            }
        }
    }

    private func fetchPage(since token: ChangeToken?) async throws -> Page {
        if let zoneID {
            let page = try await database.zoneChanges(ZoneChangesRequest(zoneID, since: token, limit: PageLimit(records: Self.pageSize)))
            return Page(changes: .records(page.changes), syncToken: page.syncToken, moreComing: page.moreComing)
        }
        let page = try await database.databaseChanges(DatabaseChangesRequest(since: token, limit: Self.pageSize))
        return Page(changes: .zones(page.changes), syncToken: page.syncToken, moreComing: page.moreComing)
    }

    /// Prints all changes since a token, with a progress bar.
    /// - Parameter reached: receives the token after each printed page.
    func pull(since token: ChangeToken?, to printer: ChangePrinter, reached: (ChangeToken) throws -> Void) async throws {
        let bar = ProgressBar()
        defer { bar.finish() }
        var (done, total) = (0, nil as Int?)
        try await read(since: token) { page in
            // Asks for the total after the first page, so that an invalid token causes the protocol's own error.
            // The total is optional. Without it, the progress bar shows no end.
            if done == 0, page.moreComing { total = try? await database.changeCount(in: zoneID, since: token) }
            try printer.say(page.changes, below: bar)
            try reached(page.syncToken)
            done += page.changes.count
            if page.moreComing { bar.show("Playing", fraction: total.map { $0 == 0 ? 1 : Double(done) / Double($0) }, count: done, "changes") }
        }
    }
}
