public import JSON
public import Records

/// The options of an import.
public struct ImportOptions: Sendable {
    public var recordType: Name
    public var zoneID: ZoneID
    /// The format of all files; `nil` derives it from each file's name.
    public var format: FileFormat?
    /// The column with the record names. It also becomes a field, unless its name is `recordName`.
    /// `nil` takes a column `recordName`, or else gives each record a new random name.
    public var nameField: Name?
    /// True to give each record a new random name, even if a column is called `recordName`.
    public var givesNewNames: Bool
    /// The indexes to create, by the name of the field or system field. `recordName` always becomes QUERYABLE.
    public var indexes: [Name: Indexes]
    /// The types of columns, by their name in the file. `nil` for a column derives it from the values. A field that exists keeps its type.
    public var types: [Name: FieldType]
    /// True to import the valid rows of files that also contain invalid ones.
    public var skipsBadRows: Bool

    public init(
        recordType: Name, zoneID: ZoneID = .default, format: FileFormat? = nil, nameField: Name? = nil,
        givesNewNames: Bool = false, indexes: [Name: Indexes] = [:], types: [Name: FieldType] = [:],
        skipsBadRows: Bool = false
    ) {
        self.recordType = recordType
        self.zoneID = zoneID
        self.format = format
        self.nameField = nameField
        self.givesNewNames = givesNewNames
        self.indexes = indexes
        self.types = types
        self.skipsBadRows = skipsBadRows
    }
}
