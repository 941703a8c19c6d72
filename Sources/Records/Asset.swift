/// What a record says of a file that is stored beside it.
public struct Asset: Sendable, Hashable {
    /// A mark of the content, made by the server; clients compare it for equality at most. Skylight's is a ``FileChecksum``.
    public var fileChecksum: String
    /// Bytes.
    public var size: Int64
    public var referenceChecksum: String?
    public var wrappingKey: String?
    /// The proof of an upload, given by the client when it saves the record.
    public var receipt: String?
    /// What the file was called where it came from, for people and for downloads. CloudKit has no such thing: only uploads that say a name
    /// have one.
    public var fileName: String?

    public init(
        fileChecksum: String, size: Int64, referenceChecksum: String? = nil, wrappingKey: String? = nil, receipt: String? = nil,
        fileName: String? = nil
    ) {
        self.fileChecksum = fileChecksum
        self.size = size
        self.referenceChecksum = referenceChecksum
        self.wrappingKey = wrappingKey
        self.receipt = receipt
        self.fileName = fileName
    }
}
