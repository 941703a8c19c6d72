public import Records

/// A batch of saves and deletions.
public struct ModifyRequest: Sendable {
    public var operations: [RecordOperation]
    /// The zone of the operations that name none.
    public var zoneID: ZoneID
    /// All or nothing. Holds in custom zones only, as in CloudKit.
    public var atomic: Bool
    /// The uuid of the request that the batch came with, for the journal; `nil` where none is known.
    public var requestID: String?

    public init(_ operations: [RecordOperation], zoneID: ZoneID = .default, atomic: Bool = true, requestID: String? = nil) {
        self.operations = operations
        self.zoneID = zoneID
        self.atomic = atomic
        self.requestID = requestID
    }
}

/// What became of one operation.
public enum ModifyOutcome: Sendable, Hashable {
    case saved(StoredRecord)
    case deleted(RecordID)
}
