import ArgumentParser
import RecordStore
import Records
import Synchronization
import UnixSignals

struct ChangesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "changes",
        abstract: "Print the changes of a zone, or the changed zones of a database.",
        discussion: """
            Prints one line for each change, in commit order: kind, position, record type and record name. Each record appears \
            once, at its latest change. The last line is the new token. With --json each line is an object: changes with the whole \
            record, and tokens as {"syncToken":…}.

            --follow continues with new changes until Ctrl-C. A data folder has only one writer, so this needs a running \
            server.

            Examples:
              skylight changes --container iCloud.com.example.Chat --zone Chats
              token=$(skylight changes --token-only --zone Chats \\
                --container iCloud.com.example.Chat)
              skylight changes --container iCloud.com.example.Chat --zone Chats \\
                --since "$token" --follow
                Prints only new changes.
            """)

    @OptionGroup var database: DatabaseOptions

    @Option(
        name: .customLong("database"), help: "The database: private or shared. The public one has no changes to pull.")
    var scope: DatabaseScope = .private

    @Option(help: ArgumentHelp("The zone. (default: none; print the changed zones)", valueName: "name"))
    var zone: String?

    @Option(help: ArgumentHelp("The owner of the zone, in the shared database.", valueName: "handle"))
    var zoneOwner: String?

    @Option(help: ArgumentHelp("Only changes after this token. (default: all records)", valueName: "token"))
    var since: String?

    @Flag(help: "Continue with new changes as they are committed, until Ctrl-C.")
    var follow = false

    @Flag(help: "Print only the current token.")
    var tokenOnly = false

    @OptionGroup var store: StoreOptions

    func validate() throws {
        if scope == .public { throw ValidationError("The public database has no changes to pull, in CloudKit too.") }
        if tokenOnly, since != nil || follow {
            throw ValidationError("--token-only prints the current token: remove --since and --follow.")
        }
        if zone == ZoneID.defaultZoneName.string {
            throw ValidationError("The default zone has no changes to pull, in CloudKit too.")
        }
        if scope == .shared, zone != nil, zoneOwner == nil {
            throw ValidationError("In the shared database a zone needs its owner: add --zone-owner.")
        }
        if scope != .shared, zoneOwner != nil {
            throw ValidationError("--zone-owner is for zones of other users: add --database shared.")
        }
        if since?.isEmpty == true { throw ValidationError("--since is empty; remove it to start from the beginning.") }
    }

    func run() async throws {
        try await store.withStore(isNew: false) { store in
            let target = try await store.existingDatabase(database.address(scope), as: database.user)
            var zoneID: ZoneID?
            if let zone {
                zoneID = ZoneID(zoneName: Name(zone), ownerRecordName: try await store.zoneOwner(zoneOwner))
            }
            let feed = ChangeFeed(database: target, zoneID: zoneID)
            let printer = ChangePrinter(asJSON: self.store.output.isJSON)
            if tokenOnly { return try printer.sayOnly(try await target.currentToken(of: zoneID)) }
            let token = since.map { ChangeToken(text: $0) }
            if follow {
                guard store.hasServer else {
                    throw CommandFailure(
                        .failed,
                        "There is no running server to follow: while this command has the data folder open, nothing can change it",
                        code: "NO_SERVER", remedy: "Start skylight serve on the folder, or give a server with --url")
                }
                try await Follower(feed: feed, printer: printer, isServerThere: store.isServerThere).run(since: token)
            } else {
                var last = token
                try await feed.pull(since: token, to: printer) { last = $0 }
                try last.map { try printer.say($0) }
            }
        }
    }
}

// MARK: - Feed

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
        try await page(since: token).andLater {
            try await page(since: $0.syncToken)
        } take: { page in
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
            let page = try await database.zoneChanges(
                ZoneChangesRequest(zoneID, since: token, limit: PageLimit(records: Self.pageSize)))
            return Page(changes: .records(page.changes), syncToken: page.syncToken, moreComing: page.moreComing)
        }
        let page = try await database.databaseChanges(DatabaseChangesRequest(since: token, limit: Self.pageSize))
        return Page(changes: .zones(page.changes), syncToken: page.syncToken, moreComing: page.moreComing)
    }

    /// Prints all changes since a token, with a progress bar.
    /// - Parameter reached: receives the token after each printed page.
    func pull(since token: ChangeToken?, to printer: ChangePrinter, reached: (ChangeToken) throws -> Void) async throws
    {
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
            if page.moreComing {
                bar.show("Playing", count: done, of: total, "changes")
            }
        }
    }
}

// MARK: - Following

/// Prints changes as they are committed, until a signal ends the process. Retries while the server is busy.
struct Follower: Sendable {
    private let feed: ChangeFeed
    private let printer: ChangePrinter

    /// - Parameter isServerThere: returns true if the server answers.
    init(feed: ChangeFeed, printer: ChangePrinter, isServerThere: @escaping @Sendable () async -> Bool) {
        var feed = feed
        feed.pause = { error in
            if let seconds = error.retryAfter { return .seconds(min(max(seconds, 1), 60)) }
            guard error.code == .tryAgainLater, await isServerThere() else { return nil }
            return .seconds(1)
        }
        self.feed = feed
        self.printer = printer
    }

    /// The token after the printed changes, shared with the signal handler.
    private final class Place: Sendable {
        let token = Mutex<ChangeToken?>(nil)
    }

    /// - Throws: `CommandFailure` if the server ended; errors of page requests.
    func run(since token: ChangeToken?) async throws {
        // Both start before the first page, so that nothing is missed.
        let commits = try feed.database.require(.signalCommits).commits()
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        let place = Place()
        place.token.withLock { $0 = token }
        let wasAsked = try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                for await _ in signals { return true }
                return false
            }
            group.addTask {
                do {
                    try await follow(commits, from: place)
                } catch  where Task.isCancelled {
                    return true
                }
                return Task.isCancelled
            }
            defer { group.cancelAll() }
            do {
                return try await group.next() ?? false
            } catch let error as RecordError where error.code == .tryAgainLater {
                // The server no longer answers.
                return false
            } catch {
                // The printed changes stay valid, so the token shows where to continue.
                try place.token.withLock { $0 }.map { try printer.say($0) }
                throw error
            }
        }
        let last = place.token.withLock { $0 }
        if let last { try printer.say(last) }
        if !wasAsked {
            throw CommandFailure(
                .unavailable, "The server no longer responds", code: "SERVER_NOT_AVAILABLE",
                remedy: last.map { "When it runs again, continue with --since \($0.text)" })
        }
    }

    private func follow(_ commits: AsyncStream<Void>, from place: Place) async throws {
        try await feed.pull(since: place.token.withLock { $0 }, to: printer) { token in
            place.token.withLock { $0 = token }
        }
        if printer.asJSON { try place.token.withLock { $0 }.map { try printer.say($0) } }
        for await _ in commits {
            try await feed.read(since: place.token.withLock { $0 }) { page in
                try printer.say(page.changes)
                place.token.withLock { $0 = page.syncToken }
                if printer.asJSON, page.changes.count > 0 { try printer.say(page.syncToken) }
            }
        }
    }
}

// MARK: - Output

/// Prints changes and tokens, one per line.
struct ChangePrinter: Sendable {
    let asJSON: Bool

    /// - Parameter bar: the progress bar on the same terminal, which is cleared first.
    func say(_ changes: ChangeFeed.Changes, below bar: ProgressBar? = nil) throws {
        if changes.count == 0 { return }
        bar?.finish()
        var text: [UInt8] = []
        switch changes {
        case .records(let changes):
            for change in changes {
                text += try asJSON ? json(change) : Array(Self.line(change).utf8) + [UInt8(ascii: "\n")]
            }
        case .zones(let changes):
            for change in changes {
                text += asJSON ? json(change) : Array(Self.line(change).utf8) + [UInt8(ascii: "\n")]
            }
        }
        try OutputFile.standardOutput.write(text)
    }

    /// Prints the token to continue from.
    func say(_ token: ChangeToken) throws {
        if asJSON { return try sayOnly(token) }
        try OutputFile.standardOutput.write(Array("Token: \(token.text)\n".utf8))
    }

    /// Prints only the token.
    func sayOnly(_ token: ChangeToken) throws {
        var writer = JSONWriter()
        writer.object { $0.member("syncToken", token.text) }
        try OutputFile.standardOutput.write(
            asJSON ? writer.bytes + [UInt8(ascii: "\n")] : Array("\(token.text)\n".utf8))
    }

    private static func line(_ change: RecordChange) -> String {
        // A dash stands for what the store does not tell.
        let (kind, position) = (change.kind?.rawValue ?? "saved", change.position.map { String($0) } ?? "-")
        return
            "\(padded(kind, 9))  \(padded(position, 8))  \(change.record?.recordType ?? "-")  \(change.recordID.recordName)"
    }

    private static func line(_ change: ZoneChange) -> String {
        let owner = change.zoneID.ownerRecordName.map { "  \($0)" } ?? ""
        return "\(padded(change.kind.rawValue, 9))  \(change.zoneID.zoneName)\(owner)"
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    private func json(_ change: RecordChange) throws -> [UInt8] {
        var writer = JSONWriter(capacity: change.bytes + 512)
        try writer.value(change)
        return writer.bytes + [UInt8(ascii: "\n")]
    }

    private func json(_ change: ZoneChange) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("change", change.kind.rawValue)
            writer.member("zoneID") { $0.value(change.zoneID) }
            if let timestamp = change.timestamp { writer.member("timestamp", timestamp.milliseconds) }
            if let token = change.syncToken { writer.member("syncToken", token.text) }
        }
        return writer.bytes + [UInt8(ascii: "\n")]
    }
}
