internal import Logging
internal import Records
internal import Synchronization

/// Creates the compressed forms of files, after an upload or at the first request for one.
///
/// Compressed forms are optional, so errors have no further effect.
final class Compressor: Sendable {
    /// The maximum size in bytes of files that are compressed while a download waits.
    static let promptLimit: Int64 = 4 << 20
    /// The minimum size of files to compress, in bytes. The gzip format itself takes about 20 bytes.
    static let leastSize: Int64 = 128
    /// The maximum number of queued files. A dropped file is queued again on demand.
    private static let queueLimit = 1024

    private struct Job {
        let checksum: FileChecksum
        let size: Int64
    }

    private struct State {
        var queue: [Job] = []
        var waiting: Set<FileChecksum> = []
        /// The task that processes the queue; `nil` if the queue is empty.
        var worker: Task<Void, Never>?
        /// The running compressions.
        var underWay: [FileChecksum: Task<Bool, Never>] = [:]
        var pausedUntil: ContinuousClock.Instant?
        var isClosed = false
    }

    private let folder: AssetFolder
    private let holds: FileHolds
    private let known: KnownFiles
    private let threads: FileThreads
    private let pause: Duration
    private let logger = Logger(label: "skylight.assets")
    private let state = Mutex(State())

    /// - Parameter pause: the delay after a failure, such as a full disk, before the next attempt.
    init(folder: AssetFolder, holds: FileHolds, known: KnownFiles, threads: FileThreads, pauseAfterFailure pause: Duration) {
        self.folder = folder
        self.holds = holds
        self.known = known
        self.threads = threads
        self.pause = pause
    }

    /// Queues a file, unless compression can't reduce its size.
    func offer(_ checksum: FileChecksum, size: Int64, type: AssetType) {
        guard type.isCompressible, size >= Self.leastSize, known.facts(of: checksum).compressedForm == nil else { return }
        state.withLock { state in
            guard !state.isClosed, state.queue.count < Self.queueLimit, state.underWay[checksum] == nil else { return }
            guard state.waiting.insert(checksum).inserted else { return }
            state.queue.append(Job(checksum: checksum, size: size))
            if state.worker == nil { state.worker = Task { await self.work() } }
        }
    }

    /// Compresses a small file immediately, and queues a larger one.
    /// - Returns: true if a compressed form exists now.
    func demand(_ checksum: FileChecksum, size: Int64, type: AssetType) async -> Bool {
        guard type.isCompressible, size >= Self.leastSize else { return false }
        guard size <= Self.promptLimit else {
            offer(checksum, size: size, type: type)
            return false
        }
        return await make(Job(checksum: checksum, size: size), on: .compressing)
    }

    /// Waits until the queue is empty; for tests.
    func finishWaiting() async {
        while true {
            let (worker, underWay) = state.withLock { ($0.worker, Array($0.underWay.values)) }
            if worker == nil, underWay.isEmpty { return }
            await worker?.value
            for task in underWay { _ = await task.value }
        }
    }

    func close() async {
        let (worker, underWay) = state.withLock { state in
            state.isClosed = true
            state.queue = []
            state.worker?.cancel()
            for task in state.underWay.values { task.cancel() }
            return (state.worker, Array(state.underWay.values))
        }
        await worker?.value
        for task in underWay { _ = await task.value }
    }

    private func work() async {
        while let job = next() { _ = await make(job, on: .background) }
    }

    private func next() -> Job? {
        state.withLock { state in
            guard !state.queue.isEmpty else {
                state.worker = nil
                return nil
            }
            let job = state.queue.removeFirst()
            state.waiting.remove(job.checksum)
            return job
        }
    }

    /// Compresses a file, or waits for a running compression of it.
    private func make(_ job: Job, on kind: FileThreads.Kind) async -> Bool {
        let task: Task<Bool, Never>? = state.withLock { state in
            if let task = state.underWay[job.checksum] { return task }
            if let pausedUntil = state.pausedUntil, ContinuousClock.now < pausedUntil { return nil }
            if state.isClosed { return nil }
            let task = Task {
                let isThere = await self.tryCompressing(job, on: kind)
                self.state.withLock { $0.underWay[job.checksum] = nil }
                return isThere
            }
            state.underWay[job.checksum] = task
            return task
        }
        return await task?.value ?? false
    }

    private func tryCompressing(_ job: Job, on kind: FileThreads.Kind) async -> Bool {
        do {
            return try await compress(job, on: kind)
        } catch is CancellationError {
            return false
        } catch {
            logger.warning("\(job.checksum) could not be compressed: \(error)")
            state.withLock { $0.pausedUntil = ContinuousClock.now + pause }
            return false
        }
    }

    private func compress(_ job: Job, on kind: FileThreads.Kind) async throws -> Bool {
        let (folder, checksum) = (folder, job.checksum)
        let hold = await holds.hold(checksum)
        defer { hold.release() }
        let there = try await threads.run(kind) { try folder.compressedForm(of: checksum, size: job.size) }
        if let there {
            // The form exists from an earlier run.
            known.note(there, of: checksum)
            return there == .kept
        }
        let compression = try await threads.run(kind) { try FileCompression(of: checksum, size: job.size, in: folder) }
        do {
            // Works in steps, to share the thread with other files.
            while try await threads.run(kind, { try compression.step() }) { try Task.checkCancellation() }
            let isWorthIt = try await threads.run(kind) { try compression.place() }
            known.note(isWorthIt ? .kept : .notWorthIt, of: checksum)
            return isWorthIt
        } catch {
            do { try await threads.run(kind) { compression.discard() } } catch { compression.discard() }
            throw error
        }
    }
}
