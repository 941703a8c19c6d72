/// A file attached to a record, as stored in the record.
public struct Asset: Sendable, Hashable {
    /// Identifies the content; set by the server. Clients should only compare it for equality. Skylight uses a
    /// ``FileChecksum``.
    public var fileChecksum: String
    /// Size in bytes.
    public var size: Int64
    /// A value of CloudKit's own, which must be returned unchanged. Present in private and shared databases.
    public var referenceChecksum: String?
    /// A value of CloudKit's own, which must be returned unchanged. Present in private and shared databases.
    public var wrappingKey: String?
    /// Proof of an upload, sent by the client when it saves the record.
    public var receipt: String?
    /// Original file name, for display and downloads. An extension of Skylight, present only if the upload specified
    /// a name.
    public var fileName: String?

    /// An asset as returned by an upload, or as contained in a record.
    public init(
        fileChecksum: String, size: Int64, referenceChecksum: String? = nil, wrappingKey: String? = nil,
        receipt: String? = nil,
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
    /// True to write the file name, which is an extension of Skylight. False while responses may contain only
    /// CloudKit's members.
    @TaskLocal public static var showsFileName = true
}

// MARK: - Uploads

/// The field of a record for which a file is uploaded (Apple's reference page "Uploading Assets").
public struct UploadRequest: Sendable, Hashable {
    /// The type of the record that will have the file.
    public var recordType: Name
    /// The field that will have the file: an asset, or a list of assets.
    public var fieldName: Name
    /// `nil` for a new record, whose name the service chooses.
    public var recordName: Name?

    /// A request for one file. A list of assets needs one for each.
    public init(recordType: Name, fieldName: Name, recordName: Name? = nil) {
        self.recordType = recordType
        self.fieldName = fieldName
        self.recordName = recordName
    }
}

// MARK: - Checksums

/// The SHA-256 of a file: its key in the asset store and, as 64 hexadecimal digits, its `fileChecksum` in records.
public struct FileChecksum: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Length in bytes.
    public static let length = 32

    /// The 32 bytes of the checksum.
    public let bytes: [UInt8]

    /// - Returns: `nil` if there are not exactly 32 bytes.
    public init?(bytes: some Sequence<UInt8>) {
        let bytes = Array(bytes)
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }

    /// - Returns: `nil` unless the text consists of 64 lowercase hexadecimal digits.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count == Self.length * 2,
            !text.utf8.contains(where: { (UInt8(ascii: "A")...UInt8(ascii: "F")).contains($0) }),
            let bytes = Hexadecimal.bytes(of: text.utf8)
        else { return nil }
        self.bytes = bytes
    }

    public var description: String { Hexadecimal.text(of: bytes) }

    public static func < (left: FileChecksum, right: FileChecksum) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }
}

// MARK: - File names

/// The rules for names of asset files.
public enum AssetFileName {
    /// Maximum length in bytes.
    public static let limit = 255

    /// A file name that is safe on any system and in URLs: without slashes, control characters and marks that change
    /// the writing direction, and not too long. Safe names are unchanged.
    public static func safe(_ name: String) -> String {
        let unsafe: Set<Unicode.Scalar> = ["/", "\\", ":", "*", "?", "\"", "<", ">", "|"]
        var safe = String.UnicodeScalarView()
        var length = 0
        for scalar in name.unicodeScalars {
            // Formatting characters are invisible, and those that change the direction can make a name look like
            // another.
            let isInvisible = [.control, .format, .lineSeparator, .paragraphSeparator].contains(
                scalar.properties.generalCategory)
            if isInvisible { continue }
            let scalar = unsafe.contains(scalar) ? "_" : scalar
            length += UTF8.width(scalar)
            if length > limit { break }
            safe.append(scalar)
        }
        let text = String(safe)
        return text.isEmpty || text.allSatisfy { $0 == "." } ? "asset" : text
    }
}
