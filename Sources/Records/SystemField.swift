public import JSON

/// A field that each record has. It has two names: one in schema files and older error texts, and a readable one.
public enum SystemField: String, Sendable, Hashable, CaseIterable {
    case createTime = "___createTime"
    case createdBy = "___createdBy"
    case etag = "___etag"
    case modTime = "___modTime"
    case modifiedBy = "___modifiedBy"
    case recordID = "___recordID"
    case parent = "___parent"
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

    public var schemaName: Name { Name(rawValue) }

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
