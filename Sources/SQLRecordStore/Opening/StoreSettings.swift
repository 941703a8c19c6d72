internal import Logging
internal import RecordStore
internal import Records

/// Settings shared by all stores of an engine.
struct StoreSettings: Sendable {
    let home: any StoreHome
    /// Time for which deletions are kept; `nil` means forever.
    var tokenLifetime: Duration?
    /// Limits for earlier versions of records; `nil` means the setting stored in the file.
    var journal: JournalLimits?
    var indexLimits = IndexLimits()
    var cascadeLimits = CascadeLimits()
    let clock: @Sendable () -> Timestamp
    var logger = Logger(label: "skylight.store")
    let threads = WriterThreads()
    let newKeys: NewStoreKeys
    let empty = EmptyContainer()
}
