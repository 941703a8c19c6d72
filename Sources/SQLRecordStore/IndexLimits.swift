/// Thresholds and batch sizes of index work.
struct IndexLimits: Sendable {
    /// Maximum number of records of a type for which an index is built or removed within the requesting transaction.
    /// Above it the work runs in the background.
    var recordsAtOnce = 5000
    /// Maximum number of records held in memory, to be sorted before they are written.
    var recordsInChunk = 32_768
    /// Maximum number of rows written or removed in one step.
    var rowsInStep = 4096
    /// Test hook, awaited before each background step.
    var beforeStep: (@Sendable () async -> Void)?
}
