internal import Logging
internal import Records
internal import Synchronization

/// Limits the number of open stores of an engine.
///
/// An open store uses memory and file handles, and most containers are idle most of the time. Above the limit the
/// least recently used store is closed. Each idle store is closed after a while.
final class OpenStores: Sendable {
    struct Limits: Sendable {
        /// Maximum number of idle stores that stay open.
        var unused = 24
        /// Maximum number of open stores. Each one uses several file handles.
        var all: Int
        /// Time after which an idle store is closed.
        var patience = Duration.seconds(60)
        /// Number of places above which empty ones are dropped.
        var places = 10_000

        /// File handles for everything else: connections, asset files, accounts.
        static let reserve = 64

        /// Derives the limit from the system's limit on open files. Half of it is left for connections and asset
        /// files.
        init(openFiles: Int = OpenFiles.limit, handlesPerStore: Int) {
            all = max(2, (openFiles / 2 - Self.reserve / 2) / handlesPerStore)
            unused = min(unused, max(1, all / 2))
        }
    }

    /// Number of attempts to find a store that can be closed, and the pause between them.
    private static let tries = 20
    private static let pause = Duration.milliseconds(10)

    let limits: Limits
    private let open = Mutex<[StoreKey: StorePlace]>([:])

    init(_ limits: Limits) {
        self.limits = limits
    }

    var count: Int { open.withLock { $0.count } }
    var places: [StorePlace] { open.withLock { Array($0.values) } }

    /// Makes room for a store about to be opened and counts it as open.
    /// - Throws: `RecordError` TRY_AGAIN_LATER if the maximum number of stores is in use.
    func admit(_ place: StorePlace) async throws {
        for _ in 0..<Self.tries {
            // Waiting stores are not counted. Otherwise many concurrent openings could block each other.
            let isIn = enter(place)
            let hasClosed = await closeUnused(besides: place)
            if isIn { return }
            // Most stores are in use only briefly.
            if !hasClosed { try? await Task.sleep(for: Self.pause) }
        }
        throw RecordError(
            .tryAgainLater,
            "\(limits.all) containers are in use, as many as the system's limit of \(OpenFiles.limit) open files allows. Ask again later, or start the server "
                + "with a higher limit (ulimit -n)", retryAfter: 1)
    }

    /// - Returns: `false` if there is no room.
    private func enter(_ place: StorePlace) -> Bool {
        open.withLock { open in
            guard open.count < limits.all || open[place.key] != nil else { return false }
            open[place.key] = place
            return true
        }
    }

    /// Closes the least recently used idle stores until the limit for idle stores is met, counting `place` as one of
    /// them.
    /// - Returns: `true` if a store was closed.
    private func closeUnused(besides place: StorePlace) async -> Bool {
        let others = places.filter { $0 !== place }
        var excess = others.count + 1 - limits.unused
        var hasClosed = false
        for other in others.sorted(by: { $0.lastUse < $1.lastUse }) where excess > 0 {
            guard await other.closeUnlessUsed() else { continue }
            excess -= 1
            hasClosed = true
        }
        return hasClosed
    }

    func remove(_ place: StorePlace) {
        open.withLock { if $0[place.key] === place { $0[place.key] = nil } }
    }

    /// Closes idle stores regularly until the task is cancelled.
    func tidyRegularly() async {
        // The sleep throws when the engine cancels the task.
        while (try? await Task.sleep(for: limits.patience / 4)) != nil {
            let oldest = StorePlace.now - Int64(limits.patience / .nanoseconds(1))
            for place in places where place.lastUse < oldest { _ = await place.closeUnlessUsed() }
        }
    }
}
