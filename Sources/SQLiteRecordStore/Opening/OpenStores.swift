internal import Logging
internal import Records
internal import Synchronization

/// The stores of an engine that are open, and how many may be.
///
/// Each takes memory and handles, and most containers are not used at most times: beyond a limit the one that was not used for longest is
/// closed, and after a while without use every one.
final class OpenStores: Sendable {
    struct Limits: Sendable {
        /// Stores that stay open although nobody uses them.
        var unused = 24
        /// Stores that are open at all, each of which takes up to ``handlesPerStore`` handles.
        var all: Int
        /// How long a store that nobody uses stays open.
        var patience = Duration.seconds(60)
        /// Places beyond which those are forgotten that hold nothing.
        var places = 10_000

        /// The file, its log, the log's index and the undo of a savepoint for the writer, and the first two for each reader. A store that was busy
        /// once keeps all its readers.
        static var handlesPerStore: Int { 4 + 2 * SQLiteStore.readerLimit }
        /// Handles for everything else: connections, files of assets, the accounts.
        static let reserve = 64

        /// As many as the system's limit of open files lets there be, with half of it for connections and files of assets.
        init(openFiles: Int = OpenFiles.limit) {
            all = max(2, (openFiles / 2 - Self.reserve / 2) / Self.handlesPerStore)
            unused = min(unused, max(1, all / 2))
        }
    }

    /// How often, and after which pause, it is looked again whether one of those in use can be closed.
    private static let tries = 20
    private static let pause = Duration.milliseconds(10)

    let limits: Limits
    private let open = Mutex<[StoreKey: StorePlace]>([:])

    init(_ limits: Limits) {
        self.limits = limits
    }

    var count: Int { open.withLock { $0.count } }
    var places: [StorePlace] { open.withLock { Array($0.values) } }

    /// Makes room for a store that is about to be opened, and counts it.
    /// - Throws: `RecordError` TRY_AGAIN_LATER when as many are in use as there may be.
    func admit(_ place: StorePlace) async throws {
        for _ in 0..<Self.tries {
            // Those who wait are not counted: else as many that come at once would keep one another out.
            let isIn = enter(place)
            let hasClosed = await closeUnused(besides: place)
            if isIn { return }
            // Most are in use for a moment only.
            if !hasClosed { try? await Task.sleep(for: Self.pause) }
        }
        throw RecordError(
            .tryAgainLater,
            "\(limits.all) containers are in use, as many as the system's limit of \(OpenFiles.limit) open files allows. Ask again later, or start the server "
                + "with a higher limit (ulimit -n)", retryAfter: 1)
    }

    /// - Returns: whether there is room.
    private func enter(_ place: StorePlace) -> Bool {
        open.withLock { open in
            guard open.count < limits.all || open[place.key] != nil else { return false }
            open[place.key] = place
            return true
        }
    }

    /// Closes those that were not used for longest, until no more stay open than may be unused, with the one that is about to be opened.
    /// - Returns: whether one was closed.
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

    /// Closes stores that nobody has used for a while, and lets go of what the others don't need, until the task is cancelled.
    func tidyRegularly() async {
        // Cancelled when the engine is closed.
        while (try? await Task.sleep(for: limits.patience / 4)) != nil {
            let oldest = StorePlace.now - Int64(limits.patience / .nanoseconds(1))
            for place in places where place.lastUse < oldest { _ = await place.closeUnlessUsed() }
        }
    }
}
