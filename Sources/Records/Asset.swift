/// A file attached to a record, as stored in the record.
public struct Asset: Sendable, Hashable {
    /// Identifies the content; set by the server. Clients should only compare it for equality. Skylight uses a
    /// ``FileChecksum``.
    public var fileChecksum: String
    /// Bytes.
    public var size: Int64
    /// CloudKit's own, and opaque: it goes back as it came. Private and shared databases have it.
    public var referenceChecksum: String?
    /// CloudKit's own, and opaque: it goes back as it came. Private and shared databases have it.
    public var wrappingKey: String?
    /// Proof of an upload, sent by the client when it saves the record.
    public var receipt: String?
    /// Original file name, for display and downloads. An extension of Skylight, present only if the upload specified
    /// a name.
    public var fileName: String?

    /// An asset as an upload answers it, or a record has it.
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

extension Asset {
    /// False while answers may only have members that CloudKit has: they then leave the file name out.
    @TaskLocal public static var showsFileName = true
}
