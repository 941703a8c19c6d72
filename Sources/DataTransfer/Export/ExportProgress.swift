/// How far an export is.
public struct ExportProgress: Sendable, Hashable {
    /// Records written.
    public var count: Int
    /// Records there were at the start; `nil` when the store keeps no counts.
    public var total: Int?
    /// Bytes of assets, fetched or found in the folder.
    public var assetBytes: Int64 = 0
}
