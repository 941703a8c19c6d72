internal import Crypto
internal import Logging
internal import NIOCore
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
    init(
        folder: AssetFolder, holds: FileHolds, known: KnownFiles, threads: FileThreads,
        pauseAfterFailure pause: Duration
    ) {
        self.folder = folder
        self.holds = holds
        self.known = known
        self.threads = threads
        self.pause = pause
    }

    /// Queues a file, unless compression can't reduce its size.
    func offer(_ checksum: FileChecksum, size: Int64, type: AssetType) {
        guard type.isCompressible, size >= Self.leastSize, known.facts(of: checksum).compressedForm == nil else {
            return
        }
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

// MARK: - Compression

/// Creates the compressed form of one file in steps. All calls block.
final class FileCompression: Sendable {
    private struct State {
        var read: Int64 = 0
        var written: Int64 = 0
        /// The hash of the bytes read so far.
        var hash = SHA256()
        var isWorthIt = true
        var isPlaced = false
    }

    /// The number of bytes per step.
    private static let stepLength = 256 << 10
    /// The number of bytes after which the compression ratio is representative.
    private static let probeLength: Int64 = 4 << 20

    /// The compression level. Files are compressed once and sent often.
    private static let level = 6

    private let folder: AssetFolder
    private let checksum: FileChecksum
    private let size: Int64
    private let source: DiskFile
    private let target: DiskFile
    private let path: String
    private let deflater: Mutex<Deflater>
    private let state = Mutex(State())

    init(of checksum: FileChecksum, size: Int64, in folder: AssetFolder) throws {
        self.folder = folder
        self.checksum = checksum
        self.size = size
        do throws(DiskFailure) {
            source = try DiskFile(reading: folder.path(of: checksum))
        } catch {
            // The file was swept before the compression started.
            if error.isMissing { throw CancellationError() }
            throw error
        }
        deflater = Mutex(try Deflater(level: Self.level))
        (target, path) = try folder.makeIncomingFile()
    }

    /// Compresses the next part.
    /// - Returns: `false` at the end, or if the compression is not worthwhile.
    func step() throws -> Bool {
        let (source, target) = (source, target)
        return try state.withLock { state in
            let input = try source.read(Self.stepLength, at: state.read)
            state.read += Int64(input.readableBytes)
            input.withUnsafeReadableBytes { state.hash.update(bufferPointer: $0) }
            let isLast = input.readableBytes < Self.stepLength
            let output = try deflater.withLock { try $0.compress(input, isLast ? .last : .whenFull) }
            if output.readableBytes > 0 {
                try output.withUnsafeReadableBytes { try target.write($0, at: state.written) }
            }
            state.written += Int64(output.readableBytes)
            // The compressed form must be at least 10 % smaller.
            let sofar = isLast || state.read >= Self.probeLength ? state.read : size
            state.isWorthIt = state.written <= sofar / 10 * 9
            return state.isWorthIt && !isLast
        }
    }

    /// Moves the compressed form to its final name. Stores an empty file instead if the compression is not worthwhile.
    /// - Returns: true if the compression is worthwhile.
    func place() throws -> Bool {
        let (folder, checksum, path, target) = (folder, checksum, path, target)
        return try state.withLock { state in
            // A damaged file gets no compressed form, which would remain after a repair. A verification reports the
            // damage.
            if state.isWorthIt, state.read != size || FileChecksum(bytes: state.hash.finalize()) != checksum {
                throw CancellationError()
            }
            if !state.isWorthIt { try target.truncate() }
            try target.sync()
            try folder.placeCompressed(path, of: checksum)
            state.isPlaced = true
            return state.isWorthIt
        }
    }

    /// Removes the temporary file.
    func discard() {
        let (folder, path) = (folder, path)
        state.withLock { state in
            if !state.isPlaced { folder.discard(path) }
        }
    }
}

// MARK: - Decompression

/// Unpacks a compressed form in steps, to compare it with the file. All calls block.
final class FileUnpacking: Sendable {
    private struct State {
        var read: Int64 = 0
        var size: Int64 = 0
        var hash = SHA256()
        var isDamaged = false
        var isWhole = false
    }

    private static let stepLength = 256 << 10
    /// The number of bytes to unpack at a time.
    private static let pieceLength = 64 << 10

    private let checksum: FileChecksum
    private let size: Int64
    private let file: DiskFile
    private let inflater: Mutex<Inflater>
    private let state = Mutex(State())

    /// - Returns: `nil` if there is no compressed form.
    init?(of checksum: FileChecksum, size: Int64, in folder: AssetFolder) throws {
        self.checksum = checksum
        self.size = size
        do throws(DiskFailure) {
            file = try DiskFile(reading: folder.compressedPath(of: checksum))
            if try file.status().size == 0 { return nil }
        } catch {
            if error.isMissing { return nil }
            throw error
        }
        inflater = Mutex(try Inflater())
    }

    /// - Returns: `false` at the end, or once damage is detected.
    func step() throws -> Bool {
        let (file, limit) = (file, size)
        return try state.withLock { state in
            var input = try file.read(Self.stepLength, at: state.read)
            let count = input.readableBytes
            state.read += Int64(count)
            do {
                try inflater.withLock { inflater in
                    var piece = ByteBuffer()
                    repeat {
                        piece.clear()
                        _ = try inflater.inflate(&input, into: &piece, atMost: Self.pieceLength)
                        piece.withUnsafeReadableBytes { state.hash.update(bufferPointer: $0) }
                        state.size += Int64(piece.readableBytes)
                        // The content is already larger than the file.
                        if state.size > limit { throw Inflater.Failed.malformed }
                    } while piece.readableBytes == Self.pieceLength
                    state.isWhole = inflater.isComplete
                }
            } catch Inflater.Failed.malformed {
                state.isDamaged = true
            }
            return !state.isDamaged && count == Self.stepLength
        }
    }

    /// True if the complete content matches the file. Valid only at the end.
    var isRight: Bool {
        state.withLock {
            !$0.isDamaged && $0.isWhole && $0.size == size && FileChecksum(bytes: $0.hash.finalize()) == checksum
        }
    }
}

// MARK: - Trailer

/// The trailer of gzip data.
struct GzipTrailer {
    /// The uncompressed length, modulo 2³².
    let length: UInt32

    /// - Returns: `nil` if the file is too short.
    init?(of file: DiskFile, size: Int64) throws(DiskFailure) {
        // The minimum is ten bytes of header, two bytes of content, and the checksum and length of four bytes each.
        guard size >= 20 else { return nil }
        var bytes: [UInt8] = [0, 0, 0, 0]
        var failure: DiskFailure?
        bytes.withUnsafeMutableBytes { space in
            do throws(DiskFailure) { _ = try file.read(into: space, at: size - 4) } catch { failure = error }
        }
        if let failure { throw failure }
        length = bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
}
