/// What a record says of a file that is stored beside it.
public struct Asset: Sendable, Hashable {
    /// An opaque mark of the content, made by the server.
    public var fileChecksum: String
    /// Bytes.
    public var size: Int64
    public var referenceChecksum: String?
    public var wrappingKey: String?
    /// The proof of an upload, given by the client when it saves the record.
    public var receipt: String?

    public init(
        fileChecksum: String, size: Int64, referenceChecksum: String? = nil, wrappingKey: String? = nil, receipt: String? = nil
    ) {
        self.fileChecksum = fileChecksum
        self.size = size
        self.referenceChecksum = referenceChecksum
        self.wrappingKey = wrappingKey
        self.receipt = receipt
    }
}
