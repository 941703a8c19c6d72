public import JSON
public import Records

/// What becomes of the rows of an import.
public struct ImportOptions: Sendable {
    public var recordType: Name
    public var zoneID: ZoneID
    /// The format of all files; `nil` goes by each file's name.
    public var format: FileFormat?
    /// The column whose values name the records. It stays a field as well, unless it is called `recordName`.
    /// `nil` gives every record a new random name.
    public var nameField: Name?
    /// The indexes to make, by the name of the field or system field. `recordName` becomes QUERYABLE in any case.
    public var indexes: [Name: Indexes]
    /// Imports the good rows of files that also hold bad ones.
    public var skipsBadRows: Bool

    public init(
        recordType: Name, zoneID: ZoneID = .default, format: FileFormat? = nil, nameField: Name? = nil, indexes: [Name: Indexes] = [:],
        skipsBadRows: Bool = false
    ) {
        self.recordType = recordType
        self.zoneID = zoneID
        self.format = format
        self.nameField = nameField
        self.indexes = indexes
        self.skipsBadRows = skipsBadRows
    }
}
