internal import Foundation
internal import RecordStore
internal import Records
internal import Synchronization

extension AssetStore {
    /// Files that are removed together: so many entries are struck off at a time, and so many uploads may have to wait for it.
    private static let batch = 64

    /// Removes files that nothing has used for some time: no record, no upload and no download.
    /// - Parameters:
    ///   - graceTime: how long they are kept.
    ///   - dryRun: whether only to say what would be removed.
    /// - Throws: `RecordError` TRY_AGAIN_LATER while another sweep or a verification is under way, INTERNAL_ERROR when a file can't be removed.
    public func sweep(graceTime: Duration, dryRun: Bool) async throws -> AssetSweep {
        try await sweep(graceTime: graceTime, dryRun: dryRun, withStrays: true)
    }

    /// As the server does it now and then: looks at every file only after something went wrong.
    func sweepAgain(graceTime: Duration) async throws -> AssetSweep {
        try await sweep(graceTime: graceTime, dryRun: false, withStrays: upkeep.withLock { $0.mayHaveStrays })
    }

    private func sweep(graceTime: Duration, dryRun: Bool, withStrays: Bool) async throws -> AssetSweep {
        if !dryRun { try beginSweep() }
        defer { if !dryRun { upkeep.withLock { $0.isSweeping = false } } }
        let graceTime = graceTime.components
        let milliseconds = graceTime.seconds * 1000 + graceTime.attoseconds / 1_000_000_000_000_000
        var work = SweepWork(moment: Timestamp(milliseconds: clock().milliseconds - milliseconds))
        work.sweep.isDryRun = dryRun
        try await reportingDiskFailures {
            try await sweepEntries(&work)
            if withStrays { try await sweepStrays(&work) }
        }
        work.sweep.waiting += try await unusedEntries() - (dryRun ? work.removedEntries : 0)
        if let failure = work.failure { throw failure.recordError }
        return work.sweep
    }

    private struct SweepWork {
        let moment: Timestamp
        var sweep = AssetSweep()
        var removedEntries = 0
        /// Why a file could not be removed; the others were.
        var failure: DiskFailure?
    }

    private func beginSweep() throws(RecordError) {
        let isFree = upkeep.withLock { upkeep in
            guard !upkeep.isSweeping, upkeep.verifications == 0 else { return false }
            upkeep.isSweeping = true
            return true
        }
        if !isFree { throw RecordError(.tryAgainLater, "The assets are being verified or swept; sweep when that is done", retryAfter: 60) }
    }

    // MARK: What is entered

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
                for checksum in free { try await note(checksum, in: &work) }
            } else {
                try await remove(page.map(\.checksum), of: &work) { [ledger] claimed, moment in
                    try await ledger.strike(claimed, unusedSince: moment)
                }
            }
        }
    }

    /// Takes files for removal, asks which of them may go, and removes those.
    private func remove(
        _ checksums: [FileChecksum], of work: inout SweepWork,
        allowed: ([FileChecksum], Timestamp) async throws -> Set<FileChecksum>
    ) async throws {
        let claimed = checksums.filter { holds.beginRemoval($0) }
        defer { for checksum in claimed { holds.endRemoval(checksum) } }
        guard !claimed.isEmpty else { return }
        let leaving = try await allowed(claimed, work.moment)
        let folder = folder
        for checksum in claimed where leaving.contains(checksum) {
            known.forget(checksum)
            try await note(checksum, in: &work)
            do {
                try await threads.run(.background) { try folder.remove(checksum) }
            } catch let failure as DiskFailure {
                // It is not entered any more: the next sweep finds it again.
                work.failure = failure
                work.sweep.removed.removeLast()
                upkeep.withLock { $0.mayHaveStrays = true }
            }
        }
    }

    private func note(_ checksum: FileChecksum, in work: inout SweepWork) async throws {
        let folder = folder
        let bytes = try await threads.run(.background) {
            try (folder.status(of: checksum)?.size ?? 0) + (folder.compressedStatus(of: checksum)?.size ?? 0)
        }
        work.sweep.removed.append(AssetSweep.File(checksum: checksum, name: AssetFolder.name(of: checksum), bytes: bytes))
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

    // MARK: What is not entered

    /// Files without an entry: those of uploads that were killed before they were entered.
    private func sweepStrays(_ work: inout SweepWork) async throws {
        let (folder, waitingBefore) = (folder, work.sweep.waiting)
        upkeep.withLock { $0.mayHaveStrays = false }
        do {
            for number in try await threads.run(.background, { try folder.subfolders().sorted() }) {
                try Task.checkCancellation()
                let found = try await threads.run(.background) { try folder.files(in: number) }
                if found.isEmpty { continue }
                let entered = try await enteredChecksums(in: number)
                try await sweepStrays(found.map(\.checksum).filter { !entered.contains($0) }, of: &work)
            }
        } catch {
            upkeep.withLock { $0.mayHaveStrays = true }
            throw error
        }
        if work.sweep.waiting > waitingBefore { upkeep.withLock { $0.mayHaveStrays = true } }
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
        let old = try await threads.run(.background) {
            try strays.filter { checksum in
                let status = try folder.status(of: checksum) ?? folder.compressedStatus(of: checksum)
                return status.map { $0.modified <= moment.milliseconds } ?? false
            }
        }
        // Uploads that are under way have their files there before they are entered.
        work.sweep.waiting += strays.count - old.count
        for start in stride(from: 0, to: old.count, by: Self.batch) {
            let some = Array(old[start..<min(start + Self.batch, old.count)])
            if work.sweep.isDryRun {
                for checksum in some where !holds.isHeld(checksum) { try await note(checksum, in: &work) }
                continue
            }
            try await remove(some, of: &work) { [ledger] claimed, moment in
                // A ledger that failed says so here, before it is asked what is entered: it may not know.
                var leaving = try await ledger.strike(claimed, unusedSince: moment)
                for checksum in claimed where !leaving.contains(checksum) {
                    if try await ledger.entry(of: checksum) == nil { leaving.insert(checksum) }
                }
                return leaving
            }
        }
    }
}
