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
        /// Stores that are open at all, each of which takes about as many handles as ``handlesPerStore``.
        var all: Int
        /// How long a store that nobody uses stays open.
        var patience = Duration.seconds(60)

        /// The file, its log and its index for the writer, and the first two for each reader, of which a busy store has some.
        static let handlesPerStore = 8
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
        open.withLock { $0[place.key] = place }
        for _ in 0..<Self.tries {
            var excess = count - limits.unused
            for other in places.filter({ $0 !== place }).sorted(by: { $0.lastUse < $1.lastUse }) where excess > 0 {
                if await other.closeUnlessUsed() { excess -= 1 }
            }
            if count <= limits.all { return }
            // Most are in use for a moment only. Going away ends the wait.
            try? await Task.sleep(for: Self.pause)
        }
        remove(place)
        throw RecordError(
            .tryAgainLater,
            "\(limits.all) containers are in use, as many as the system's limit of \(OpenFiles.limit) open files allows. Ask again later, or start the server "
                + "with a higher limit (ulimit -n)", retryAfter: 1)
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
