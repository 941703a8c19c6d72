public import RemoteRecords

/// Devices that still had something to send after many rounds of syncs.
public struct NeverSettled: Error, Sendable {
    /// The number of rounds that were not enough.
    public let rounds: Int
}

extension SkylightServer {
    /// Syncs devices in turn until each has everything and nobody has anything to send.
    ///
    /// Errors that time mends, such as those of ``inject(_:count:in:)``, only cost a round.
    /// - Parameters:
    ///   - engines: those of the devices; `RecordCache` has one as `engine`.
    ///   - rounds: the number of rounds after which it is an error. Devices that answer each other's changes never settle.
    /// - Throws: ``NeverSettled``; errors of syncs that time does not mend.
    public func settle(_ engines: [SyncEngine], within rounds: Int = 50) async throws {
        for _ in 0..<rounds {
            var isQuiet = true
            for engine in engines {
                do {
                    try await engine.fetchChanges()
                    // Once a whole round has nothing to send, each device has fetched after the last change.
                    if engine.state.isEmpty { continue }
                    isQuiet = false
                    try await engine.sendChanges()
                } catch let error as OperationError where error.isMendedByTime || error.code == .serverResponseLost {
                    isQuiet = false
                }
            }
            if isQuiet { return }
        }
        throw NeverSettled(rounds: rounds)
    }
}

extension SyncEngine.State {
    fileprivate var isEmpty: Bool { pendingDatabaseChanges.isEmpty && nextRecordZoneChanges(1).isEmpty }
}
