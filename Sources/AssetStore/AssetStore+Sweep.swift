internal import Foundation
internal import RecordStore
public import Records
internal import Synchronization

extension AssetStore {
    /// The number of files that are removed together. Uploads of these files wait for the removal. Uploads by other
    /// processes also wait if they concern files in the same subfolders.
    private static let batch = 64

    /// Removes files that no record, upload or download has used for some time.
    /// - Parameters:
    ///   - graceTime: the time that unused files are kept.
    ///   - dryRun: true to only report what would be removed.
    /// - Throws: `RecordError` TRY_AGAIN_LATER during another sweep or a verification, INTERNAL_ERROR if a file can't
    ///   be removed.
    public func sweep(graceTime: Duration, dryRun: Bool) async throws -> AssetSweep {
        try await sweep(graceTime: graceTime, dryRun: dryRun, withStrays: true)
    }

    /// The regular sweep of the server. It checks for files without an entry only after an error.
    func sweepAgain(graceTime: Duration) async throws -> AssetSweep {
        try await sweep(graceTime: graceTime, dryRun: false, withStrays: upkeep.withLock { $0.mayHaveStrays })
    }

    private func sweep(graceTime: Duration, dryRun: Bool, withStrays: Bool) async throws -> AssetSweep {
        if !dryRun { try beginSweep() }
        defer { if !dryRun { upkeep.withLock { $0.isSweeping = false } } }
        var work = SweepWork(moment: moment(before: graceTime))
        work.sweep.isDryRun = dryRun
        try await reportingDiskFailures {
            try await sweepEntries(&work)
            if withStrays { try await sweepStrays(&work) }
        }
        work.sweep.waiting += try await unusedEntries() - (dryRun ? work.removedEntries : 0)
        if let failure = work.failure { throw failure.recordError }
        return work.sweep
    }

    /// The latest last use of files to remove. Saturates if the time is out of range.
    private func moment(before graceTime: Duration) -> Timestamp {
        let (seconds, attoseconds) = graceTime.components
        let (whole, isTooLong) = seconds.multipliedReportingOverflow(by: 1000)
        let (milliseconds, isStillTooLong) = whole.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
        let (moment, isTooEarly) = clock().milliseconds.subtractingReportingOverflow(milliseconds)
        if isTooLong || isStillTooLong || isTooEarly { return Timestamp(milliseconds: graceTime < .zero ? .max : .min) }
        return Timestamp(milliseconds: moment)
    }

    private struct SweepWork {
        let moment: Timestamp
        var sweep = AssetSweep()
        var removedEntries = 0
        /// The error of a file that could not be examined or removed. The other files were processed.
        var failure: DiskFailure?
    }

    private func beginSweep() throws(RecordError) {
        let isFree = upkeep.withLock { upkeep in
            guard !upkeep.isSweeping, upkeep.verifications == 0 else { return false }
            upkeep.isSweeping = true
            return true
        }
        if !isFree {
            throw RecordError(.tryAgainLater, "The assets are being verified or swept; try again later", retryAfter: 60)
        }
    }

    // MARK: Files with an entry

    private func sweepEntries(_ work: inout SweepWork) async throws {
        var last: FileChecksum?
        while true {
            try Task.checkCancellation()
            let page = try await ledger.entries(unusedSince: work.moment, after: last, limit: Self.batch)
            guard let end = page.last else { return }
            last = end.checksum
            if work.sweep.isDryRun {
                let free = page.map(\.checksum).filter { !holds.isHeld($0) }
                work.removedEntries += free.count
                try await note(free, in: &work)
            } else {
                try await remove(page.map(\.checksum), of: &work) { [ledger] claimed, moment in
                    try await ledger.strike(claimed, unusedSince: moment)
                }
            }
        }
    }

    /// Claims files for removal, asks which of them may be removed, and removes those.
    private func remove(
        _ checksums: [FileChecksum], of work: inout SweepWork,
        allowed: ([FileChecksum], Timestamp) async throws -> Set<FileChecksum>
    ) async throws {
        let claimed = checksums.filter { holds.beginRemoval($0) }
        defer { for checksum in claimed { holds.endRemoval(checksum) } }
        guard !claimed.isEmpty else { return }
        let locks = try await threads.run(.background) { [folder] in RemovalLocks(for: claimed, in: folder) }
        defer { locks.release() }
        if let failure = locks.failure { work.failure = failure }
        let free = claimed.filter(locks.covers)
        // The next sweep processes the other files.
        if free.count < claimed.count { upkeep.withLock { $0.mayHaveStrays = true } }
        guard !free.isEmpty else { return }
        do {
            let leaving = try await allowed(free, work.moment)
            for checksum in free where leaving.contains(checksum) { try await remove(checksum, of: &work) }
        } catch {
            // Some entries may be removed from the ledger although their files still exist.
            upkeep.withLock { $0.mayHaveStrays = true }
            throw error
        }
    }

    private func remove(_ checksum: FileChecksum, of work: inout SweepWork) async throws {
        let folder = folder
        known.forget(checksum)
        do {
            let file = try await look(at: checksum)
            try await threads.run(.background) { try folder.remove(checksum) }
            work.sweep.removed.append(file)
        } catch let failure as DiskFailure {
            // The file no longer has an entry, so the next sweep finds it again.
            work.failure = failure
            upkeep.withLock { $0.mayHaveStrays = true }
        }
    }

    /// Records files that would be removed.
    private func note(_ checksums: [FileChecksum], in work: inout SweepWork) async throws {
        for checksum in checksums {
            do {
                work.sweep.removed.append(try await look(at: checksum))
            } catch let failure as DiskFailure {
                work.failure = failure
            }
        }
    }

    private func look(at checksum: FileChecksum) async throws -> AssetSweep.File {
        let folder = folder
        let bytes = try await threads.run(.background) {
            try (folder.status(of: checksum)?.size ?? 0) + (folder.compressedStatus(of: checksum)?.size ?? 0)
        }
        return AssetSweep.File(checksum: checksum, name: AssetFolder.name(of: checksum), bytes: bytes)
    }

    private func unusedEntries() async throws -> Int {
        var count = 0
        var last: FileChecksum?
        while true {
            let page = try await ledger.entries(unusedSince: Timestamp(milliseconds: .max), after: last, limit: 1000)
            guard let end = page.last else { return count }
            count += page.count
            last = end.checksum
        }
    }

    // MARK: Files without an entry

    /// Sweeps files without an entry, from uploads that were killed before they were entered.
    private func sweepStrays(_ work: inout SweepWork) async throws {
        let (folder, waitingBefore) = (folder, work.sweep.waiting)
        upkeep.withLock { $0.mayHaveStrays = false }
        do {
            for number in try await threads.run(.background, { try folder.subfolders().sorted() }) {
                try Task.checkCancellation()
                do {
                    let found = try await threads.run(.background) { try folder.files(in: number) }
                    if found.isEmpty { continue }
                    let entered = try await enteredChecksums(in: number)
                    try await sweepStrays(found.map(\.checksum).filter { !entered.contains($0) }, of: &work)
                } catch let failure as DiskFailure {
                    work.failure = failure
                }
            }
        } catch {
            upkeep.withLock { $0.mayHaveStrays = true }
            throw error
        }
        if work.sweep.waiting > waitingBefore || work.failure != nil { upkeep.withLock { $0.mayHaveStrays = true } }
    }

    private func enteredChecksums(in number: UInt8) async throws -> Set<FileChecksum> {
        var entered: Set<FileChecksum> = []
        var last = AssetFolder.last(before: number)
        while true {
            let page = try await ledger.entries(after: last, limit: 1000)
            entered.formUnion(page.lazy.map(\.checksum).filter { $0.bytes[0] == number })
            guard let end = page.last?.checksum, end.bytes[0] == number else { return entered }
            last = end
        }
    }

    private func sweepStrays(_ strays: [FileChecksum], of work: inout SweepWork) async throws {
        let (folder, moment) = (folder, work.moment)
        let ages = try await threads.run(.background) {
            strays.map { checksum in
                Result { () throws(DiskFailure) -> Bool in
                    var status = try folder.status(of: checksum)
                    if status == nil { status = try folder.compressedStatus(of: checksum) }
                    return status.map { $0.modified <= moment.milliseconds } ?? false
                }
            }
        }
        var old: [FileChecksum] = []
        for (checksum, age) in zip(strays, ages) {
            switch age {
            case .success(true): old.append(checksum)
            // Files of running uploads exist before their entries.
            case .success(false): work.sweep.waiting += 1
            case .failure(let failure): work.failure = failure
            }
        }
        for start in stride(from: 0, to: old.count, by: Self.batch) {
            let some = Array(old[start..<min(start + Self.batch, old.count)])
            if work.sweep.isDryRun {
                try await note(some.filter { !holds.isHeld($0) }, in: &work)
                continue
            }
            try await remove(some, of: &work) { [ledger] claimed, moment in
                // If the ledger fails, it throws here, before it is asked for entries that it may not know.
                var leaving = try await ledger.strike(claimed, unusedSince: moment)
                for checksum in claimed where !leaving.contains(checksum) {
                    if try await ledger.entry(of: checksum) == nil { leaving.insert(checksum) }
                }
                return leaving
            }
        }
    }
}

// MARK: - Result

/// The result of a sweep or of its dry run.
public struct AssetSweep: Sendable, Hashable {
    public struct File: Sendable, Hashable {
        /// `nil` for an unfinished upload.
        public var checksum: FileChecksum?
        public var name: String
        /// The size on disk in bytes, including the compressed form.
        public var bytes: Int64

        public init(checksum: FileChecksum?, name: String, bytes: Int64) {
            self.checksum = checksum
            self.name = name
            self.bytes = bytes
        }
    }

    public var removed: [File] = []
    /// The number of unused files that are within their grace time or being downloaded.
    public var waiting = 0
    public var isDryRun = false
    public var removedBytes: Int64 { removed.map(\.bytes).saturatedSum }

    public init() {}
}

extension AssetSweep: JSONObjectCoded {
    package static let form = JSONForm<AssetSweep>(
        { isDryRun, removed, _, waiting in
            var sweep = AssetSweep()
            (sweep.isDryRun, sweep.removed, sweep.waiting) = (isDryRun, removed, waiting)
            return sweep
        },
        JSONPart("dryRun", \.isDryRun), JSONPart("removed", \.removed), JSONPart("removedBytes", \.removedBytes),
        JSONPart("waiting", \.waiting))
}

extension AssetSweep.File: JSONObjectCoded {
    package static let form = JSONForm<AssetSweep.File>(
        { name, checksum, bytes in AssetSweep.File(checksum: checksum, name: name, bytes: bytes) },
        JSONPart("name", \.name), JSONPart("fileChecksum", \.checksum), JSONPart("bytes", \.bytes))
}

// MARK: - Locks

/// Locks that prevent other processes from entering files while this one removes their entries and the files.
struct RemovalLocks: Sendable {
    /// The locked files, one in each subfolder; `nil` if no other process uses the folder.
    private let files: [UInt8: DiskFile]?
    /// The error of a subfolder that could not be locked.
    let failure: DiskFailure?

    /// Locks the subfolders of some files, except those to which other processes are uploading. Blocks on the disk,
    /// but does not wait for a lock.
    init(for checksums: [FileChecksum], in folder: AssetFolder) {
        var files: [UInt8: DiskFile] = [:]
        var failure: DiskFailure?
        for checksum in checksums where folder.isShared && files[checksum.bytes[0]] == nil {
            do throws(DiskFailure) {
                let file = try folder.openLock(of: checksum)
                if file.tryLock(.exclusive) { files[checksum.bytes[0]] = file }
            } catch {
                failure = error
            }
        }
        self.files = folder.isShared ? files : nil
        self.failure = failure
    }

    /// True if the file can be removed.
    func covers(_ checksum: FileChecksum) -> Bool { files.map { $0[checksum.bytes[0]] != nil } ?? true }

    func release() {
        for file in (files ?? [:]).values { file.unlock() }
    }
}
