public import JSON
internal import Records

/// What names may look like.
public enum NameRules {
    /// - Throws: `RecordError` BAD_REQUEST when a record name is empty, too long or holds control characters.
    public static func checkRecordName(_ name: Name) throws {
        try check(name, what: "recordName", limit: RecordID.nameLimit)
    }

    /// - Throws: `RecordError` BAD_REQUEST when the name of a custom zone is empty, too long, holds control characters, or starts as the
    ///   system's own zones do.
    public static func checkCustomZoneName(_ name: Name) throws {
        try check(name, what: "zoneName", limit: ZoneID.nameLimit)
        if name.hasPrefix("_") {
            throw RecordError(.badRequest, "Invalid zoneName '\(name)': names that start with _ belong to the system")
        }
    }

    /// Where a new name comes from, which decides about dots.
    public enum Source: Sendable {
        /// A save, an imported row, a form: CloudKit makes types and fields of letters, digits and `_`.
        case save
        /// A schema, by a file, an edit or a deployment: its language has dots in quoted names, and files in the wild use them.
        case schema
    }

    /// - Throws: `RecordError` BAD_REQUEST when a new record type can't have this name.
    public static func checkTypeName(_ name: Name, from source: Source = .save) throws {
        try checkIdentifier(name, what: "recordType", limit: RecordType.nameLimit, source)
    }

    /// - Throws: `RecordError` BAD_REQUEST when a new field can't have this name.
    public static func checkFieldName(_ name: Name, from source: Source = .save) throws {
        try checkIdentifier(name, what: "field name", limit: Field.nameLimit, source)
    }

    /// - Throws: `RecordError` BAD_REQUEST when a new security role can't have this name.
    static func checkRoleName(_ name: Name) throws {
        try checkIdentifier(name, what: "role", limit: RecordType.nameLimit, .schema)
    }

    private static func check(_ name: Name, what: String, limit: Int) throws {
        if name.isEmpty { throw RecordError(.badRequest, "Invalid \(what): it is empty") }
        if name.utf8.count > limit { throw RecordError(.badRequest, "Invalid \(what): it is longer than \(limit) bytes") }
        if name.string.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
            throw RecordError(.badRequest, "Invalid \(what): it holds a control character")
        }
    }

    /// How the system's own types and fields begin, such as `cloudkit.share` and `cloudkit.title`.
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
        throw RecordError(.badRequest, "Invalid \(what) '\(name)': it must start with a letter and go on with \(rest)")
    }
}
