public import JSON

/// A field that each record has. It has two names: one in schema files and older error texts, and a readable one.
public enum SystemField: String, Sendable, Hashable, CaseIterable {
    /// When the record was made.
    case createTime = "___createTime"
    /// The user who made it.
    case createdBy = "___createdBy"
    /// The change tag.
    case etag = "___etag"
    /// When the record was saved last.
    case modTime = "___modTime"
    /// The user who saved it last.
    case modifiedBy = "___modifiedBy"
    /// The record's name.
    case recordID = "___recordID"
    /// The record with which this one is shared.
    case parent = "___parent"
    /// The share of the record, if it is the root of a hierarchy.
    case share = "___share"

    /// The name in requests and in the console: `recordName`, `createdTimestamp`…
    public var alias: Name {
        switch self {
        case .createTime: "createdTimestamp"
        case .createdBy: "createdUserRecordName"
        case .etag: "recordChangeTag"
        case .modTime: "modifiedTimestamp"
        case .modifiedBy: "modifiedUserRecordName"
        case .recordID: "recordName"
        case .parent: "parent"
        case .share: "share"
        }
    }

    /// The name in schema files, such as `___createTime`.
    public var schemaName: Name { Name(rawValue) }

    /// The type that schema files declare.
    public var type: FieldType {
        switch self {
        case .createTime, .modTime: .timestamp
        case .etag: .string
        case .createdBy, .modifiedBy, .recordID, .parent, .share: .reference
        }
    }

    /// The record name and user names sort as strings, although their declared type is reference.
    public var allowedIndexes: Indexes {
        switch self {
        case .createTime, .modTime, .etag, .recordID: [.queryable, .sortable]
        case .createdBy, .modifiedBy, .parent, .share: .queryable
        }
    }

    /// The six fields that schema files list for each type.
    public static let implicit: [SystemField] = [.createTime, .createdBy, .etag, .modTime, .modifiedBy, .recordID]

    /// The system field with either name.
    public init?(named name: Name) {
        guard let field = Self.allCases.first(where: { $0.schemaName == name || $0.alias == name }) else { return nil }
        self = field
    }
}
