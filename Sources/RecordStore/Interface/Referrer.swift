public import JSON
public import Records

/// A reference as seen from its target.
public struct Referrer: Sendable, Hashable {
    public var recordName: Name
    public var recordType: Name
    /// The field with the reference; `___parent` if the target is the record's parent.
    public var fieldName: Name
    public var action: Reference.Action

    public init(recordName: Name, recordType: Name, fieldName: Name, action: Reference.Action) {
        self.recordName = recordName
        self.recordType = recordType
        self.fieldName = fieldName
        self.action = action
    }
}
