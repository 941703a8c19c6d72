/// Where work on indexes goes to the background, and in which portions it is done.
struct IndexLimits: Sendable {
    /// Records of a type up to which an index is built or removed at once, in the transaction that asks for it.
    var recordsAtOnce = 5000
    /// Records that are read and ordered together before they are entered. They are in memory meanwhile.
    var recordsInChunk = 32_768
    /// Rows that one step enters or removes, however quick it is.
    var rowsInStep = 4096
    /// Awaited before each step of the background work: a test can hold it there.
    var beforeStep: (@Sendable () async -> Void)?
}
