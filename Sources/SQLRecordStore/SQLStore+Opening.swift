internal import Foundation
internal import Logging
internal import RecordStore
internal import Records
internal import Synchronization

/// What a store is opened for.
enum OpeningPurpose {
    case reading
    /// Creates a missing file.
    case writing
    /// Like `writing` for a store that was read-only before. The time is noted to avoid immediate further attempts.
    case writingAgain
}

extension SQLStore {
    func openFile(for purpose: OpeningPurpose) async throws {
        do {
            let last = state.withLock { $0.last }
            used.store(Self.now, ordering: .relaxed)
            // Opening a container without data must not close other stores.
            let isThere = try await DiskThreads.run { [key, settings] in try settings.home.holds(key) }
            if isThere || purpose != .reading { try await open.admit(self) }
            let store = try await DiskThreads.run { [self] in try openNow(for: purpose, continuing: last) }
            // The container may have been deleted and created again.
            subscriptionIndex.forget()
            state.withLock { state in
                state.phase = .open(store)
                state.latest = store
                state.outage = nil
                if purpose == .writingAgain { state.lastRetry = Self.now }
                state.users = UserNumbers(store.users, visitors: state.users.visitors)
            }
            if store.isAbsent { open.remove(self) }
        } catch {
            let problem = StoreProblem(error, reading: key)
            let refusal =
                error as? RecordError ?? problem?.refusal
                ?? RecordError(.internalError, "\(key) can't be opened: \(StoreProblem.words(for: error))")
            // The limit on open stores is not a problem of the file.
            let isOutage = refusal.code == .internalError
            // The reason for clients does not contain the cause of a failed connection.
            if isOutage || (error as? SQLError)?.isForLog == true, messages.isNew(problem?.details ?? refusal.reason) {
                settings.logger.error("\(refusal.reason)", metadata: problem.map { ["details": "\($0.details)"] })
            }
            open.remove(self)
            state.withLock { state in
                state.phase = .closed
                if isOutage { state.outage = StoreOutage(refusal, since: state.outage?.since ?? settings.clock()) }
            }
            throw refusal
        }
    }

    /// Blocks on the disk.
    private func openNow(for purpose: OpeningPurpose, continuing last: StoreOpening?) throws -> OpenStore {
        let keys = try settings.newKeys.keys(of: key)
        var last = last
        if try !settings.home.holds(key) {
            if purpose == .reading { return try OpenStore(absent: key, keys, settings) }
            do {
                // Another process may be creating the store at the same time, with the same keys.
                _ = try settings.home.make(key) { try StoreFacts.fill($0, keys) }
            } catch
                where StoreProblem.isOfWriting(error) || (error as? POSIXError)?.code == .ENOSPC
                || (error as? CocoaError)?.code == .fileWriteOutOfSpace
            {
                throw StoreProblem.readOnly(key, because: error)
            }
            settings.newKeys.use(of: key)
            last = StoreOpening(making: keys)
        }
        do {
            return try OpenStore(key, continuing: last, signals: signals, settings)
        } catch  where StoreProblem.isOfWriting(error) {
            do {
                let store = try OpenStore(
                    key, continuing: last, refusing: StoreProblem.readOnly(key, because: error), settings)
                tell("\(key) is open for reading alone: \(StoreProblem.details(of: error))", .warning)
                return store
            } catch let another {
                // The first error is the cause and is reported.
                tell("\(key) can't be opened for reading alone: \(StoreProblem.details(of: another))", .error)
                throw error
            }
        }
    }

    private func tell(_ message: String, _ level: Logger.Level) {
        if messages.isNew(message) { settings.logger.log(level: level, "\(message)") }
    }

    /// Closes the store unless it is in use or has work to do.
    /// - Returns: `true` if it was closed.
    func closeUnlessUsed() async -> Bool {
        let task = state.withLock { state -> Task<Void, any Error>? in
            guard let store = state.phase.store, store.isIdle, store.gate.shutIfEmpty() else { return nil }
            return change(&state) { place in
                await place.close(store)
                place.state.withLock { $0.phase = .closed }
            }
        }
        guard let task else { return false }
        // Closing logs its own errors.
        _ = await task.result
        return true
    }

    func close(_ store: OpenStore) async {
        if store.writer != nil, state.withLock({ $0.amounts != nil }) {
            // If reading fails, the previous amounts are kept.
            let amounts = try? await store.readLong(for: .scan) { db, catalog in try ZoneTypeAmount.all(db, catalog) }
            if let amounts { state.withLock { $0.amounts = amounts } }
        }
        let last = await store.close()
        open.remove(self)
        state.withLock { state in
            state.last = last ?? state.last
            // The problem is remembered until the file is opened again.
            state.outage = state.outage ?? store.damage
        }
    }

    /// Closes the store permanently after its users are done.
    func end() async {
        while true {
            let (phase, task) = state.withLock { state -> (Phase?, Task<Void, any Error>?) in
                if case .changing(let task) = state.phase { return (nil, task) }
                defer { state.phase = .ended }
                return (state.phase, nil)
            }
            if let task { _ = await task.result }
            guard let phase else { continue }
            if let store = phase.store { await close(store) }
            signals.finish()
            return
        }
    }
}

// MARK: - Limits of open stores

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

        /// Derives the limit from the system's limit on open files. Half of it is reserved for connections and asset
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
    private let open = Mutex<[StoreKey: SQLStore]>([:])

    init(_ limits: Limits) {
        self.limits = limits
    }

    var count: Int { open.withLock { $0.count } }
    var places: [SQLStore] { open.withLock { Array($0.values) } }

    /// Makes room for a store about to be opened and counts it as open.
    /// - Throws: `RecordError` TRY_AGAIN_LATER if the maximum number of stores is in use.
    func admit(_ place: SQLStore) async throws {
        for _ in 0..<Self.tries {
            // Openings that wait here are not counted. Otherwise many concurrent openings could block each other.
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
    private func enter(_ place: SQLStore) -> Bool {
        open.withLock { open in
            guard open.count < limits.all || open[place.key] != nil else { return false }
            open[place.key] = place
            return true
        }
    }

    /// Closes the least recently used idle stores until the limit for idle stores is met, counting `place` as one of
    /// them.
    /// - Returns: `true` if a store was closed.
    private func closeUnused(besides place: SQLStore) async -> Bool {
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

    func remove(_ place: SQLStore) {
        open.withLock { if $0[place.key] === place { $0[place.key] = nil } }
    }

    /// Closes idle stores regularly until the task is cancelled.
    func tidyRegularly() async {
        // The sleep throws when the engine cancels the task.
        while (try? await Task.sleep(for: limits.patience / 4)) != nil {
            let oldest = SQLStore.now - Int64(limits.patience / .nanoseconds(1))
            for place in places where place.lastUse < oldest { _ = await place.closeUnlessUsed() }
        }
    }
}

// MARK: - Open files

/// The limit on open files of this process. Each container needs several file handles, and each connection one.
public enum OpenFiles {
    #if os(Linux)
        private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        private static let resource = RLIMIT_NOFILE
    #endif

    /// The soft limit set by the system; 256 if it can't be read.
    static var limit: Int {
        var limit = rlimit()
        return getrlimit(resource, &limit) == 0 ? Int(clamping: limit.rlim_cur) : 256
    }

    /// Raises the soft limit as far as permitted. If that fails, the existing limit applies.
    public static func raiseLimit() {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
        // Some systems report no hard limit, but refuse values above the size of their file table.
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 65_536))
        setrlimit(resource, &limit)
    }

    /// True if no more files can be opened at present.
    static var isAtLimit: Bool {
        let descriptor = open("/", O_RDONLY | O_CLOEXEC)
        if descriptor >= 0 { close(descriptor) }
        return descriptor < 0 && (errno == EMFILE || errno == ENFILE)
    }

    static var shortage: RecordError {
        RecordError(
            .tryAgainLater,
            "The server has \(limit) files open, the system's limit. Try again later, or start it with a higher limit (ulimit -n)",
            retryAfter: 1)
    }
}
