public import JSON
public import Records

/// What a batch needs of an engine while the engine's transaction is open: every engine's `modify` is ``BatchModifier`` over this.
public protocol RecordTransaction: AnyObject {
    /// How the engine names a zone to itself.
    associatedtype ZoneKey: Hashable & Sendable

    var schema: Schema { get }

    /// The zone that a request means, which must exist and be open to the caller.
    /// - Throws: `RecordError` ZONE_NOT_FOUND.
    func zone(_ zoneID: ZoneID) throws -> TransactionZone<ZoneKey>

    /// Replaces the schema by one that has grown.
    func grow(_ schema: Schema) throws

    /// The record of a name, `nil` when there is none or it was deleted.
    func record(named name: Name, in zone: ZoneKey) throws -> StoredRecord?

    /// Stores a record under a new position, and returns it with the change tag of that position.
    func save(_ draft: RecordDraft, replacing previous: StoredRecord?, in zone: ZoneKey) throws -> StoredRecord

    /// Turns a record into a deletion under a new position.
    func delete(_ record: StoredRecord, in zone: ZoneKey, by signature: Signature) throws

    /// The DELETE_SELF and VALIDATE references to a name, by the name of the record that refers.
    func dependents(of name: Name, in zone: ZoneKey) throws -> [Referrer]

    /// How many records have a DELETE_SELF reference to a name, counted no further than a limit.
    func deleteSelfCount(of name: Name, in zone: ZoneKey, upTo limit: Int) throws -> Int

    /// Runs a part of the transaction that is undone when it throws.
    func attempt<Value>(_ body: () throws -> Value) throws -> Value
}

/// A zone, seen from inside a transaction.
public struct TransactionZone<Key: Hashable & Sendable>: Sendable {
    public let key: Key
    /// With its owner filled in as the caller's answers name it.
    public let zoneID: ZoneID
    public let canWrite: Bool

    public init(key: Key, zoneID: ZoneID, canWrite: Bool) {
        self.key = key
        self.zoneID = zoneID
        self.canWrite = canWrite
    }
}

/// A record that is about to be saved; the engine gives it a change tag.
public struct RecordDraft: Sendable {
    public let recordID: RecordID
    public let recordType: Name
    public let created: Signature
    public let modified: Signature
    public let parent: Name?
    public let fields: [Name: Field]
    public let text: FieldsText
}
