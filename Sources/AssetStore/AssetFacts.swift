
/// The properties of a stored file.
public struct AssetFacts: Sendable, Hashable {
    /// The size in bytes.
    public var size: Int64
    /// The size of the compressed form in bytes; `nil` if there is none.
    public var compressedSize: Int64?
    public var type: AssetType
    /// The number of record fields that refer to it.
    public var useCount: Int
}
