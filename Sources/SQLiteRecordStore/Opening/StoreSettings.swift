internal import Foundation
internal import JSON
internal import Logging
internal import RecordStore
internal import Records

/// What the stores of an engine have in common.
struct StoreSettings: Sendable {
    /// The data folder.
    let folder: URL
    /// How long deletions are remembered; `nil` for ever.
    var tokenLifetime: Duration?
    /// What is kept of earlier versions of records; `nil` for what the file was opened with before.
    var journal: JournalLimits?
    var logLimits = WriteAheadLogLimits()
    var indexLimits = IndexLimits()
    var cascadeLimits = CascadeLimits()
    let clock: @Sendable () -> Timestamp
    var logger = Logger(label: "skylight.store")
    let threads = WriterThreads()
    let newKeys = NewStoreKeys()
    let empty = EmptyContainer()
}
