public import RecordStore

/// The findings of a verification, preliminary or final.
public struct AssetVerification: Sendable, Hashable {
    public struct Problem: Sendable, Hashable {
        public enum Kind: String, Sendable, Hashable, CaseIterable {
            /// The file of an entry is missing.
            case missing
            /// The content of a file does not match its checksum or its size in the ledger.
            case changed
            /// The compressed form does not match the file.
            case compressedFormChanged
            /// A record refers to an asset without an entry.
            case notEntered
            /// The use count of an entry differs from the uses in records.
            case miscounted
            /// A file or folder can't be read.
            case unreadable
        }

        public var kind: Kind
        /// The checksum of the file, or the name of an unreadable folder, which is the prefix of its checksums.
        public var checksum: String
        /// The record field with the asset; `nil` if no field is known.
        public var use: AssetUse?
        /// The problem in words, with a remedy.
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
    /// The number of unused files, which a later sweep removes.
    public var unusedFiles = 0
    public var unusedBytes: Int64 = 0
    public var problems: [Problem] = []

    public init() {}
}
