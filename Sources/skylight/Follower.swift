import Records
import RecordStore
import Synchronization
import UnixSignals

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
        let commits = try feed.database.commits()
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
                } catch where Task.isCancelled {
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
        try await feed.pull(since: place.token.withLock { $0 }, to: printer) { token in place.token.withLock { $0 = token } }
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
