internal import Foundation
internal import RecordStore
internal import Records
internal import Synchronization

extension AssetStore {
    /// Looks at everything: reads every file again and compares it with its checksum, unpacks every compressed form, and holds every asset in
    /// the records against the entries. Changes nothing, and other work goes on meanwhile; sweeps don't.
    /// - Parameter progress: told about ten times a second what was found so far.
    /// - Returns: what was found in the end.
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
