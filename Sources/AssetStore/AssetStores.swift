public import Foundation
internal import Logging
public import RecordStore
public import Records
internal import Synchronization

/// The asset stores of a data folder: `FOLDER/iCloud.com.example.App/development.assets`, one for each container and environment.
///
/// The engine keeps other processes out of the folder, so it must be open as long as this is used.
public final class AssetStores: Sendable {
    /// Bytes that an upload may have unless the server says otherwise: 50 MB, as in CloudKit.
    public static let defaultSizeLimit: Int64 = 50 << 20
    /// How long unused files are kept unless the server says otherwise: a day.
    public static let defaultGraceTime = Duration.seconds(86_400)
    /// How often files are looked for that nothing uses, at most.
    private static let sweepInterval = Duration.seconds(900)
    /// What tickets can say of a file's size.
    private static let largestSizeLimit: Int64 = 1 << 47

    public let sizeLimit: Int64
    public let graceTime: Duration

    private struct Key: Hashable {
        let container: ContainerID
        let environment: Records.Environment
    }

    private let folder: URL
    private let engine: any AssetKeeping
    private let clock: @Sendable () -> Timestamp
    private let threads = FileThreads()
    private let logger = Logger(label: "skylight.assets")
    /// The stores that are open or being opened; `nil` once all are closed.
    private let stores = Mutex<[Key: Task<AssetStore, any Error>]?>([:])
    /// The containers that are being deleted or renamed: nobody opens their stores meanwhile. Looked at and changed under the lock of
    /// ``stores``.
    private let moving = Mutex<Set<ContainerID>>([])

    /// - Parameters:
    ///   - folder: the data folder.
    ///   - engine: whose records the files belong to.
    ///   - sizeLimit: bytes that an upload may have; 128 TB at most.
    ///   - graceTime: how long files are kept that nothing uses.
    ///   - clock: what tickets take for the present.
    public init(
        folder: URL, engine: any AssetKeeping, sizeLimit: Int64 = defaultSizeLimit, graceTime: Duration = defaultGraceTime,
        clock: @escaping @Sendable () -> Timestamp = Timestamp.now
    ) {
        self.folder = folder
        self.engine = engine
        self.sizeLimit = min(sizeLimit, Self.largestSizeLimit)
        self.graceTime = graceTime
        self.clock = clock
    }

    /// What tickets take for the present.
    public func now() -> Timestamp { clock() }

    /// The store of a container's environment. Opened at first use, when what a killed process left half-done is removed.
    ///
    /// The container is made if need be; where nothing is to be made, ask ``existingStore(_:_:)``.
    public func store(_ container: ContainerID, _ environment: Records.Environment) async throws -> AssetStore {
        let key = Key(container: container, environment: environment)
        let task = try stores.withLock { stores in
            guard stores != nil else { throw RecordError(.tryAgainLater, "The store is closed", retryAfter: 1) }
            if moving.withLock({ $0.contains(container) }) { throw RecordError.containerBusy(container) }
            if let task = stores?[key] { return task }
            let task = Task { [folder, engine, sizeLimit, threads, clock] in
                let ledger = try await engine.assetLedger(container, environment)
                return try await AssetStore(
                    folder: Self.folder(of: key, in: folder), ledger: ledger, sizeLimit: sizeLimit, threads: threads, clock: clock)
            }
            stores?[key] = task
            return task
        }
        do {
            return try await task.value
        } catch {
            // The next request tries again: what was wrong may have been put right.
            stores.withLock { stores in
                if stores?[key] == task { stores?[key] = nil }
            }
            throw error
        }
    }

    /// The store of a container's environment that exists: for requests that must not make one, such as a download by whoever knows an
    /// address.
    /// - Returns: `nil` when there is no such container, or nothing was ever asked of this environment.
    public func existingStore(_ container: ContainerID, _ environment: Records.Environment) async throws -> AssetStore? {
        let isOpen = stores.withLock { $0?[Key(container: container, environment: environment)] != nil }
        if !isOpen, try await !exists(container, environment) { return nil }
        return try await store(container, environment)
    }

    private func exists(_ container: ContainerID, _ environment: Records.Environment) async throws -> Bool {
        guard try await engine.containers().contains(container) else { return false }
        guard let listing = engine as? any EnvironmentListing else { return true }
        return try await listing.environments(of: container).contains(environment)
    }

    /// Where a container's assets can be fetched at present.
    /// - Parameter origin: scheme, host and port; empty for links within the server's own pages.
    public func links(_ container: ContainerID, _ environment: Records.Environment, origin: String) async throws -> AssetLinks {
        let ledger = try await store(container, environment).ledger
        return AssetLinks(origin: origin, container: container, environment: environment, tickets: ledger.tickets, now: clock())
    }

    /// Sweeps every store now and then, until the task is cancelled.
    public func sweepRegularly() async {
        // Within a short grace time more often, so that nothing is kept for much longer than it.
        await sweepRegularly(every: min(Self.sweepInterval, max(graceTime / 4, .seconds(1))))
    }

    func sweepRegularly(every interval: Duration) async {
        // Sleeping ends with the task.
        while (try? await Task.sleep(for: interval)) != nil {
            await sweepAll()
        }
    }

    private func sweepAll() async {
        let containers: [ContainerID]
        do {
            containers = try await engine.containers()
        } catch {
            logger.warning("Nothing is swept, since the containers can't be listed: \(error)")
            return
        }
        for container in containers {
            for environment in Records.Environment.allCases {
                if Task.isCancelled { return }
                do {
                    guard try await isThere(Key(container: container, environment: environment)) else { continue }
                    let sweep = try await store(container, environment).sweepAgain(graceTime: graceTime)
                    if sweep.removed.isEmpty { continue }
                    logger.info("\(container)/\(environment.rawValue): \(sweep.removed.count) unused assets removed, \(sweep.removedBytes) bytes")
                } catch let error as RecordError where error.code == .tryAgainLater {
                    // Somebody verifies or sweeps; there will be a next time.
                    continue
                } catch is CancellationError {
                    return
                } catch {
                    logger.warning("The assets of \(container)/\(environment.rawValue) could not be swept: \(error)")
                }
            }
        }
    }

    /// Whether a container's environment has assets on the disk; where it has none its database need not be opened.
    private func isThere(_ key: Key) async throws -> Bool {
        let folder = AssetFolder(Self.folder(of: key, in: folder))
        return try await threads.run(.background) { folder.isThere }
    }

    private static func folder(of key: Key, in folder: URL) -> URL {
        folder.appending(path: key.container.description).appending(path: "\(key.environment.rawValue).assets")
    }

    /// Deletes or renames containers while nothing of them is under way: uploads are ended, and whoever asks for a store of theirs is told to
    /// try again later. Whatever comes of the work, stores are opened anew at their next use.
    /// - Throws: `RecordError` TRY_AGAIN_LATER when one of the containers is being deleted or renamed already; what `work` throws.
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
        // One that could not be opened has nothing to close.
        for task in open.values { await (try? task.value)?.close() }
        try await work()
    }

    /// Ends what is under way. The stores can't be used afterwards.
    public func close() async {
        let open = stores.withLock { stores in
            defer { stores = nil }
            return stores ?? [:]
        }
        // One that could not be opened has nothing to close.
        for task in open.values { await (try? task.value)?.close() }
        await threads.stop()
    }
}
