public import JSON
public import Records

/// What a batch needs of an engine while the engine's transaction is open: every engine's `modify` is ``BatchModifier`` over this.
public protocol RecordTransaction: CascadeTransaction {
    var schema: Schema { get }

    /// The zone that a request means, which must exist and be open to the caller.
    /// - Throws: `RecordError` ZONE_NOT_FOUND.
    func zone(_ zoneID: ZoneID) throws -> TransactionZone

    /// Takes a type over that is new, or has new fields.
    func grow(_ type: RecordType) throws

    /// Stores a record under a new position, and returns it with the change tag of that position.
    func save(_ draft: RecordDraft, replacing previous: StoredRecord?, in zone: Int64) throws -> StoredRecord

    /// Whether so much was done that what can wait is better left.
    var hasWorkedLong: Bool { get }

    /// Leaves what is still to fall for later, when the transaction is committed.
    func leave(_ targets: [FallenTarget]) throws

    /// How many records have a DELETE_SELF reference to a name, counted no further than a limit.
    func deleteSelfCount(of name: Name, in zone: Int64, upTo limit: Int) throws -> Int

    /// Whether the store knows a user: whether anything was ever asked in the user's name.
    func knowsUser(_ name: Name) throws -> Bool

    /// What opens the receipts of uploads.
    var assetTickets: AssetTickets { get }

    /// Whether a file is entered in the ledger: whether its bytes are safely there.
    func hasAsset(_ checksum: FileChecksum) throws -> Bool

    /// Keeps a file from being swept until a moment.
    /// - Returns: `false` when the file is not entered.
    func keepAsset(_ checksum: FileChecksum, inUseUntil moment: Timestamp) throws -> Bool

    /// Notes that a receipt is used.
    /// - Returns: `false` when it was used before.
    func spend(_ receipt: AssetReceipt) throws -> Bool

    /// Runs a part of the transaction that is undone when it throws.
    func attempt<Value>(_ body: () throws -> Value) throws -> Value
}

/// A zone, seen from inside a transaction.
public struct TransactionZone: Sendable {
    /// How the engine names the zone to itself.
    public let key: Int64
    /// With its owner filled in as the caller's answers name it.
    public let zoneID: ZoneID
    public let canWrite: Bool

    public init(key: Int64, zoneID: ZoneID, canWrite: Bool) {
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
    /// The fields of the record that this one replaces, decoded.
    public let previousFields: [Name: Field]
}
