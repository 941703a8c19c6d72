public import Foundation
internal import Logging
public import RecordStore
public import Records
internal import Synchronization

/// The asset stores of a data folder: `FOLDER/iCloud.com.example.App/development.assets`, one for each container and
/// environment.
///
/// The engine locks the folder against other processes, or against those that don't share it. Therefore the engine
/// must stay open as long as this object is in use.
public final class AssetStores: Sendable {
    /// The default size limit of an upload in bytes: 50 MB, as in CloudKit.
    public static let defaultSizeLimit: Int64 = 50 << 20
    /// The default time that unused files are kept: a day.
    public static let defaultGraceTime = Duration.seconds(86_400)
    /// The maximum interval between sweeps.
    private static let sweepInterval = Duration.seconds(900)
    /// The maximum file size that tickets can encode, in bytes.
    private static let largestSizeLimit: Int64 = 1 << 47

    public let sizeLimit: Int64
    public let graceTime: Duration

    private struct Key: Hashable {
        let container: ContainerID
        let environment: Records.Environment
    }

    /// The data folder.
    package let folder: URL
    private let engine: any RecordEngine
    private let isShared: Bool
    private let clock: @Sendable () -> Timestamp
    private let threads = FileThreads()
    private let logger = Logger(label: "skylight.assets")
    /// The stores that are open or being opened; `nil` after ``close()``.
    private let stores = Mutex<[Key: Task<AssetStore, any Error>]?>([:])
    /// The containers that are being deleted or renamed. Their stores can't be opened meanwhile. Access requires the
    /// lock of ``stores``.
    private let moving = Mutex<Set<ContainerID>>([])

    /// - Parameters:
    ///   - folder: the data folder.
    ///   - engine: the engine with the records that refer to the files.
    ///   - isShared: `true` if other processes may have the folder open, too, because its records are in a database.
    ///   - sizeLimit: the size limit of an upload, in bytes; 128 TB at most.
    ///   - graceTime: the time that unused files are kept.
    ///   - clock: the current time for tickets.
    public init(
        folder: URL, engine: any RecordEngine, isShared: Bool = false, sizeLimit: Int64 = defaultSizeLimit,
        graceTime: Duration = defaultGraceTime,
        clock: @escaping @Sendable () -> Timestamp = Timestamp.now
    ) {
        self.folder = folder
        self.engine = engine
        self.isShared = isShared
        self.sizeLimit = min(sizeLimit, Self.largestSizeLimit)
        self.graceTime = graceTime
        self.clock = clock
    }

    /// The current time for tickets.
    public func now() -> Timestamp { clock() }

    /// True if the engine keeps the files of a container; otherwise its stores are refused. The files of a connected
    /// container are in iCloud.
    public func keepsFiles(of container: ContainerID) -> Bool {
        engine.part(.keepAssets)?.keepsAssets(of: container) == true
    }

    /// The store of a container's environment. The first use opens it, and removes unfinished files of a process that
    /// was killed.
    ///
    /// Creates the container if it is missing. To avoid this, use ``existingStore(_:_:)``.
    public func store(_ container: ContainerID, _ environment: Records.Environment) async throws -> AssetStore {
        let key = Key(container: container, environment: environment)
        let task = try stores.withLock { stores in
            guard stores != nil else { throw RecordError(.tryAgainLater, "The store is closed", retryAfter: 1) }
            if moving.withLock({ $0.contains(container) }) { throw RecordError.containerBusy(container) }
            if let task = stores?[key] { return task }
            // It outlives the request, and others wait for it.
            let task = Task.detached { [folder, engine, isShared, sizeLimit, threads, clock] in
                let ledger = try await engine.require(.keepAssets).assetLedger(container, environment)
                return try await AssetStore(
                    folder: Self.folder(of: key, in: folder), ledger: ledger, sizeLimit: sizeLimit, threads: threads,
                    isShared: isShared, clock: clock)
            }
            stores?[key] = task
            return task
        }
        do {
            return try await task.value
        } catch {
            // The next request tries again, because the cause may be fixed by then.
            stores.withLock { stores in
                if stores?[key] == task { stores?[key] = nil }
            }
            throw error
        }
    }

    /// The store of an existing container's environment, for requests that must not create one, such as downloads.
    /// - Returns: `nil` if the container or the environment does not exist.
    public func existingStore(_ container: ContainerID, _ environment: Records.Environment) async throws -> AssetStore?
    {
        let isOpen = stores.withLock { $0?[Key(container: container, environment: environment)] != nil }
        if !isOpen, try await !engine.has(container, environment) { return nil }
        return try await store(container, environment)
    }

    /// Creates addresses for a container's assets, valid from now.
    /// - Parameter origin: scheme, host and port; empty for links within the server's own pages.
    public func links(_ container: ContainerID, _ environment: Records.Environment, origin: String) async throws
        -> AssetLinks
    {
        let store = try await store(container, environment)
        return AssetLinks(
            origin: origin, container: container, environment: environment, tickets: store.ledger.tickets,
            withdrawn: store.withdrawn, now: clock())
    }

    /// Sweeps all stores regularly until the task is cancelled.
    public func sweepRegularly() async {
        // A short grace time needs a shorter interval, so that files are not kept for much longer.
        await sweepRegularly(every: min(Self.sweepInterval, max(graceTime / 4, .seconds(1))))
    }

    func sweepRegularly(every interval: Duration) async {
        // Cancellation ends the sleep.
        while (try? await Task.sleep(for: interval)) != nil {
            await sweepAll()
        }
    }

    private func sweepAll() async {
        guard engine.can(.keepAssets) else { return }
        let containers: [ContainerID]
        do {
            containers = try await engine.require(.listContainers).containers()
        } catch {
            logger.warning("Assets are not swept, because the containers can't be listed: \(error)")
            return
        }
        for container in containers {
            for environment in Records.Environment.allCases {
                if Task.isCancelled { return }
                do {
                    guard try await isThere(Key(container: container, environment: environment)) else { continue }
                    let sweep = try await store(container, environment).sweepAgain(graceTime: graceTime)
                    if sweep.removed.isEmpty { continue }
                    logger.info(
                        "\(container)/\(environment.rawValue): \(sweep.removed.count) unused assets removed, \(sweep.removedBytes) bytes"
                    )
                } catch let error as RecordError where error.code == .tryAgainLater {
                    // A verification or another sweep is running. The next round tries again.
                    continue
                } catch is CancellationError {
                    return
                } catch {
                    logger.warning("The assets of \(container)/\(environment.rawValue) could not be swept: \(error)")
                }
            }
        }
    }

    /// True if a container's environment has assets on the disk. Without assets, a sweep need not open its database.
    private func isThere(_ key: Key) async throws -> Bool {
        let folder = AssetFolder(Self.folder(of: key, in: folder))
        return try await threads.run(.background) { folder.isThere }
    }

    private static func folder(of key: Key, in folder: URL) -> URL {
        folder.appending(path: key.container.description).appending(path: "\(key.environment.rawValue).assets")
    }

    /// Deletes or renames containers while their stores are closed: ends their uploads, and refuses requests for
    /// their stores with TRY_AGAIN_LATER. Afterwards, even on an error, stores open again at their next use.
    /// - Throws: `RecordError` TRY_AGAIN_LATER if one of the containers is already being deleted or renamed; errors of
    ///   `work`.
    public func withClosed(_ containers: Set<ContainerID>, _ work: () async throws -> Void) async throws {
        let open = try stores.withLock { stores in
            try moving.withLock { moving in
                if let busy = containers.first(where: moving.contains) { throw RecordError.containerBusy(busy) }
                moving.formUnion(containers)
            }
            let open = stores?.filter { containers.contains($0.key.container) } ?? [:]
            for key in open.keys { stores?[key] = nil }
            return open
        }
        defer { moving.withLock { $0.subtract(containers) } }
        // A store that could not be opened need not be closed.
        for task in open.values { await (try? task.value)?.close() }
        try await work()
    }

    /// Ends all work. The stores can't be used afterwards.
    public func close() async {
        let open = stores.withLock { stores in
            defer { stores = nil }
            return stores ?? [:]
        }
        // A store that could not be opened need not be closed.
        for task in open.values { await (try? task.value)?.close() }
        await threads.stop()
    }
}
