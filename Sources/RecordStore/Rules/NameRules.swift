public import Records

/// The rules for names.
public enum NameRules {
    /// - Throws: `RecordError` BAD_REQUEST if a record name is empty, too long or contains control characters.
    public static func checkRecordName(_ name: Name) throws {
        try check(name, what: "recordName", limit: RecordID.nameLimit)
    }

    /// - Throws: `RecordError` BAD_REQUEST if the name of a custom zone is empty, too long, contains control
    ///   characters or starts with the prefix of system zones.
    public static func checkCustomZoneName(_ name: Name) throws {
        try check(name, what: "zoneName", limit: ZoneID.nameLimit)
        if name.hasPrefix("_") {
            throw RecordError(.badRequest, "Invalid zoneName '\(name)': names that start with _ belong to the system")
        }
    }

    /// - Throws: `RecordError` BAD_REQUEST if the id of a subscription is empty, too long or contains control
    ///   characters.
    static func checkSubscriptionID(_ subscriptionID: Name) throws {
        try check(subscriptionID, what: "subscriptionID", limit: Subscription.idLimit)
    }

    /// The source of a new name, which decides whether dots are allowed.
    public enum Source: Sendable {
        /// A save, an imported row or a form. Only letters, digits and `_` are allowed, as in CloudKit.
        case save
        /// A schema file, an edit or a deployment. The schema language allows dots in quoted names, and existing
        /// files use them.
        case schema
    }

    /// - Throws: `RecordError` BAD_REQUEST if the name is not allowed for a new record type.
    public static func checkTypeName(_ name: Name, from source: Source = .save) throws {
        try checkIdentifier(name, what: "recordType", limit: RecordType.nameLimit, source)
    }

    /// - Throws: `RecordError` BAD_REQUEST if the name is not allowed for a new field.
    public static func checkFieldName(_ name: Name, from source: Source = .save) throws {
        try checkIdentifier(name, what: "field name", limit: Field.nameLimit, source)
    }

    /// - Throws: `RecordError` BAD_REQUEST if the name is not allowed for a new security role.
    static func checkRoleName(_ name: Name) throws {
        try checkIdentifier(name, what: "role", limit: RecordType.nameLimit, .schema)
    }

    /// - Parameter limit: in bytes.
    /// - Throws: `RecordError` BAD_REQUEST if the name is empty, too long or contains control characters.
    static func check(_ name: Name, what: String, limit: Int) throws {
        if name.isEmpty { throw RecordError(.badRequest, "Invalid \(what): it is empty") }
        if name.utf8.count > limit {
            throw RecordError(.badRequest, "Invalid \(what): it is longer than \(limit) bytes")
        }
        if name.string.unicodeScalars.contains(where: { $0.isControl }) {
            throw RecordError(.badRequest, "Invalid \(what): it contains a control character")
        }
    }

    /// Prefix of system types and fields, such as `cloudkit.share` and `cloudkit.title`.
    private static let systemPrefix: Name = "cloudkit."

    private static func checkIdentifier(_ name: Name, what: String, limit: Int, _ source: Source) throws {
        try check(name, what: what, limit: limit)
        let mayHaveDots = source == .schema || name.hasPrefix(systemPrefix)
        let isIdentifier = name.utf8.enumerated().allSatisfy { index, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): index > 0
            case UInt8(ascii: "."): index > 0 && mayHaveDots
            default: false
            }
        }
        if isIdentifier { return }
        let rest = mayHaveDots ? "letters, digits, _ and dots" : "letters, digits and _"
        throw RecordError(
            .badRequest, "Invalid \(what) '\(name)': it must start with a letter and contain only \(rest)")
    }
}

// MARK: - Provenance

extension Provenance {
    private static let linkCharacters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~".utf8)

    /// - Throws: `RecordError` BAD_REQUEST with the invalid part, if no store could have written it.
    public func check() throws {
        let isLink = shortGUID?.utf8.allSatisfy { Self.linkCharacters.contains($0) } ?? true
        if !isLink || shortGUID.map({ $0.isEmpty || $0.utf8.count > RecordID.nameLimit }) ?? false {
            throw RecordError(.badRequest, "Invalid 'shortGUID': it is not from a link")
        }
        for (signature, part) in [(created, "created"), (modified, "modified")] {
            do {
                try NameRules.checkRecordName(signature.userRecordName)
            } catch {
                throw RecordError(.badRequest, "Invalid '\(part)': its userRecordName is not a valid record name")
            }
            let isPlain = !signature.deviceID.unicodeScalars.contains(where: \.isControl)
            if !isPlain || signature.deviceID.utf8.count > RecordID.nameLimit {
                throw RecordError(
                    .badRequest,
                    "Invalid '\(part)': its deviceID contains a control character, or is longer than \(RecordID.nameLimit) bytes"
                )
            }
        }
    }
}
