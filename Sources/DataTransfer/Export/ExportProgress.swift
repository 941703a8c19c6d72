/// The progress of an export.
public struct ExportProgress: Sendable, Hashable {
    /// The number of records written.
    public var count: Int
    /// The number of records at the start; `nil` if the store keeps no counts.
    public var total: Int?
    /// The number of asset bytes that were fetched or already in the folder.
    public var assetBytes: Int64 = 0
}
