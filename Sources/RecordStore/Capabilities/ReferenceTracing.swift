public import JSON
public import Records

/// A database that knows which records refer to a record.
public protocol ReferenceTracing: RecordDatabase {
    /// The references to a record from its own zone, by the name of the record that refers.
    func referrers(to recordID: RecordID, limit: Int) async throws -> [Referrer]
}

/// A reference, seen from its target.
public struct Referrer: Sendable, Hashable {
    public var recordName: Name
    public var recordType: Name
    /// The field that holds the reference; `___parent` for a record whose parent the target is.
    public var fieldName: Name
    public var action: Reference.Action

    public init(recordName: Name, recordType: Name, fieldName: Name, action: Reference.Action) {
        self.recordName = recordName
        self.recordType = recordType
        self.fieldName = fieldName
        self.action = action
    }
}
