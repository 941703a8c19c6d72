public import RecordStore

/// What a look at every file and every reference has found, so far or in the end.
public struct AssetVerification: Sendable, Hashable {
    public struct Problem: Sendable, Hashable {
        public enum Kind: String, Sendable, Hashable, CaseIterable {
            /// No file has the bytes that are entered.
            case missing
            /// The file's bytes are not those of its checksum, or not as many as entered.
            case changed
            /// The compressed form does not hold the file's bytes.
            case compressedFormChanged
            /// A record refers to bytes that are not entered.
            case notEntered
            /// A record's use is not counted, or more uses are counted than there are.
            case miscounted
            /// The file can't be read, or the folder that it would lie in.
            case unreadable
        }

        public var kind: Kind
        /// The checksum of the file; of a folder that can't be read its name, which checksums in it begin with.
        public var checksum: String
        /// The field of a record that it concerns, where it concerns one.
        public var use: AssetUse?
        /// In words, with what to do.
        public var explanation: String

        public init(kind: Kind, checksum: String, use: AssetUse? = nil, explanation: String) {
            self.kind = kind
            self.checksum = checksum
            self.use = use
            self.explanation = explanation
        }
    }

    public var filesDone = 0
    public var filesTotal = 0
    public var bytesDone: Int64 = 0
    public var bytesTotal: Int64 = 0
    public var referencesDone = 0
    /// Files that nothing uses: they wait for the sweep.
    public var unusedFiles = 0
    public var unusedBytes: Int64 = 0
    public var problems: [Problem] = []

    public init() {}
}
