public import Records

/// A batch of saves and deletions.
public struct ModifyRequest: Sendable {
    public var operations: [RecordOperation]
    /// The zone for operations that name none.
    public var zoneID: ZoneID
    /// True to apply all operations or none. Effective only in custom zones, as in CloudKit.
    public var atomic: Bool
    /// UUID of the request, for the journal; `nil` if unknown.
    public var requestID: String?

    public init(_ operations: [RecordOperation], zoneID: ZoneID = .default, atomic: Bool = true, requestID: String? = nil) {
        self.operations = operations
        self.zoneID = zoneID
        self.atomic = atomic
        self.requestID = requestID
    }
}

/// The result of a successful operation.
public enum ModifyOutcome: Sendable, Hashable {
    case saved(StoredRecord)
    case deleted(RecordID)
}
