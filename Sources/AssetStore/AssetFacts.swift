
/// What is known of a stored file.
public struct AssetFacts: Sendable, Hashable {
    /// Bytes.
    public var size: Int64
    /// Bytes of the compressed form; `nil` where there is none.
    public var compressedSize: Int64?
    public var type: AssetType
    /// Fields of records that refer to it.
    public var useCount: Int
}
