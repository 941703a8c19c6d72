public import Records

/// The operations of an engine's open transaction that a batch needs. Each engine implements `modify` with
/// ``BatchModifier`` on top of this protocol.
public protocol RecordTransaction: CascadeTransaction, SharingTransaction {
    var schema: Schema { get }

    /// The zone for a zone ID. It exists and is accessible to the caller.
    /// - Throws: `RecordError` ZONE_NOT_FOUND.
    func zone(_ zoneID: ZoneID) throws -> TransactionZone

    /// Adopts a type that is new or has new fields.
    func grow(_ type: RecordType) throws

    /// Stores a record under a new position and returns it with the matching change tag.
    func save(_ draft: RecordDraft, replacing previous: StoredRecord?, in zone: Int64) throws -> StoredRecord

    /// True if the transaction has taken so long that work that can be postponed should be.
    var hasWorkedLong: Bool { get }

    /// Stores the rest of a cascade, to be processed after the commit.
    func enqueue(_ targets: [DeletedTarget]) throws

    /// Number of records with a DELETE_SELF reference to a name. Exact only below `limit`.
    func deleteSelfCount(of name: Name, in zone: Int64, upTo limit: Int) throws -> Int

    /// True if the store knows the user from an earlier request or save.
    func knowsUser(_ name: Name) throws -> Bool

    /// Opens upload receipts.
    var assetTickets: AssetTickets { get }

    /// True if the file is in the ledger, so its bytes are stored.
    func hasAsset(_ checksum: FileChecksum) throws -> Bool

    /// Keeps a file until a moment.
    /// - Returns: `false` if the file is not in the ledger.
    func keepAsset(_ checksum: FileChecksum, inUseUntil moment: Timestamp) throws -> Bool

    /// Marks a receipt as used.
    /// - Returns: `false` if it was used before.
    func spend(_ receipt: AssetReceipt) throws -> Bool

    /// Runs a part of the transaction and rolls it back if it throws.
    func attempt<Value>(_ body: () throws -> Value) throws -> Value

    /// Runs all changes of the transaction and rolls them back if it throws. Nothing may be changed before or after.
    func attemptAll<Value>(_ body: () throws -> Value) throws -> Value
}

extension RecordTransaction {
    public func attemptAll<Value>(_ body: () throws -> Value) throws -> Value { try attempt(body) }
}

/// A zone within a transaction.
public struct TransactionZone: Sendable {
    /// The engine's internal key of the zone.
    public let key: Int64
    /// Includes the owner, as in responses to the caller.
    public let zoneID: ZoneID
    public let canWrite: Bool
    /// The caller's rights as a guest; `nil` for callers who see the whole zone.
    public let guest: GuestRights?
    /// True if hierarchies of the zone are shared.
    public let hasHierarchies: Bool
    /// True if the zone mirrors a zone of another container, which assigns the change tags of its records.
    public let isMirror: Bool

    public init(
        key: Int64, zoneID: ZoneID, canWrite: Bool, guest: GuestRights? = nil, hasHierarchies: Bool = false,
        isMirror: Bool = false
    ) {
        self.key = key
        self.zoneID = zoneID
        self.canWrite = canWrite
        self.guest = guest
        self.hasHierarchies = hasHierarchies
        self.isMirror = isMirror
    }
}

/// A record to be saved. The engine assigns its change tag, unless the record is a copy.
public struct RecordDraft: Sendable {
    public let recordID: RecordID
    public let recordType: Name
    public let created: Signature
    public let modified: Signature
    public let parent: Name?
    public let fields: [Name: Field]
    public let text: FieldsText
    /// The decoded fields of the replaced record.
    public let previousFields: [Name: Field]
    /// The change tag that a record has in the origin of a mirror; `nil` for all other saves.
    public var recordChangeTag: String?
    public var sharing: RecordSharing?
}

extension RecordDraft {
    /// A draft that leaves the fields of a record unchanged.
    /// - Parameter previous: the record to be replaced; `nil` for a copy to a place without a record.
    public init(
        of record: StoredRecord, replacing previous: StoredRecord?, modified: Signature, recordChangeTag: String?,
        sharing: RecordSharing?
    ) throws {
        let decoded = Dictionary(
            try record.fields.decoded().map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let before =
            previous?.fields == record.fields
            ? decoded
            : Dictionary(
                try previous?.fields.decoded().map { ($0.name, $0) } ?? [], uniquingKeysWith: { first, _ in first })
        self.init(
            recordID: record.recordID, recordType: record.recordType, created: record.created, modified: modified,
            parent: record.parent, fields: decoded,
            text: record.fields, previousFields: before, recordChangeTag: recordChangeTag, sharing: sharing)
    }
}

/// The operations of an engine's open transaction that ``MirrorModifier`` needs. Its saves and deletions are not edits.
public protocol MirrorTransaction: RecordTransaction {
    /// Makes the zone a mirror, unless it is one already.
    /// - Returns: `false` if the zone is not a mirror and contains records.
    func makeMirror(_ zone: Int64) throws -> Bool

    /// Adds a mirror to the shared database of a user, for reading and writing.
    func admit(_ guest: Name, toMirror zone: Int64) throws

    /// Sets or removes a mark of the database.
    func mark(_ name: Name, _ value: String?) throws

    /// The edit of a record that the origin does not have yet; `nil` if there is none.
    func unsentEdit(of name: Name, in zone: Int64) throws -> UnsentEdit?

    /// Replaces the stored data about an edit, apart from the record itself, or (`nil`) deletes it.
    func keep(_ edit: UnsentEdit?, of name: Name, in zone: Int64) throws

    /// Stores names of records that still exist in the origin.
    func addOriginNames(_ names: [Name], in zone: Int64) throws

    func clearOriginNames(in zone: Int64) throws
}
