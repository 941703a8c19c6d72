internal import Foundation
internal import RecordStore
internal import Records
internal import Synchronization

extension AssetStore {
    /// Verifies everything: reads every file and compares it with its checksum, unpacks every compressed form, and
    /// compares all assets in records with the ledger. Changes nothing. Other operations except sweeps continue meanwhile.
    /// - Parameter progress: receives the findings so far, about ten times a second.
    /// - Returns: the final findings.
    public func verify(_ progress: @Sendable (AssetVerification) async -> Void) async throws -> AssetVerification {
        while !beginVerification() { try await Task.sleep(for: .milliseconds(50)) }
        defer { upkeep.withLock { $0.verifications -= 1 } }
        return try await reportingDiskFailures {
            var work = Verifier(store: self)
            try await work.countEntries(progress)
            try await work.readFiles(progress)
            try await work.checkRecords(progress)
            await progress(work.result)
            return work.result
        }
    }

    private func beginVerification() -> Bool {
        upkeep.withLock { upkeep in
            if upkeep.isSweeping { return false }
            upkeep.verifications += 1
            return true
        }
    }
}
