import JSON
import Records
import RecordStore

/// The changes of a zone, or of a database where no zone is named.
struct ChangeFeed: Sendable {
    /// Changes in a page.
    private static let pageSize = 500

    let database: any RecordDatabase
    let zoneID: ZoneID?
    /// How long to wait before a page is asked for again after an error; `nil` when the error is the end.
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

    struct Page: Sendable {
        let changes: Changes
        let token: ChangeToken
        let moreComing: Bool
    }

    /// The token for now.
    func currentToken() async throws -> ChangeToken {
        if let zoneID {
            guard let token = try await database.fetchZones([zoneID]).first?.get().syncToken else { throw Self.unable("tell the current token") }
            return token
        }
        guard let explaining = database as? any TokenExplaining else { throw Self.unable("tell the current token") }
        return try await explaining.currentToken()
    }

    func page(since token: ChangeToken?) async throws -> Page {
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
            return Page(changes: .records(page.changes), token: page.syncToken, moreComing: page.moreComing)
        }
        let page = try await database.databaseChanges(DatabaseChangesRequest(since: token, limit: Self.pageSize))
        return Page(changes: .zones(page.changes), token: page.syncToken, moreComing: page.moreComing)
    }

    /// How many changes a pull will bring, where that is known without reading them.
    private func total(since token: ChangeToken?) async throws -> Int? {
        if let token { return try await (database as? any TokenExplaining)?.explain(token).changesAfter }
        guard let zoneID else { return nil }
        return try await (database as? any RecordCounting)?.counts(in: zoneID).total
    }

    /// Prints everything since a token, and how far it is.
    /// - Returns: the token after it.
    func pull(since token: ChangeToken?, to printer: ChangePrinter) async throws -> ChangeToken {
        let bar = ProgressBar()
        defer { bar.finish() }
        // The first page says what is wrong with the token, in the words for it.
        var page = try await page(since: token)
        // A server that can't tell how many there are is followed without a bar.
        let total = try? await total(since: token)
        var done = 0
        while true {
            try printer.say(page.changes, below: bar)
            done += page.changes.count
            guard page.moreComing else { return page.token }
            bar.show("Playing", fraction: total.map { $0 == 0 ? 1 : Double(done) / Double($0) }, count: done, "changes")
            page = try await self.page(since: page.token)
        }
    }

    static func unable(_ what: String) -> CommandFailure {
        CommandFailure(.failed, "This store can't \(what)")
    }
}
