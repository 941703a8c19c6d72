public import Records

/// A version of a record in the origin, the container that a database mirrors.
public enum OriginVersion: Sendable, Hashable {
    /// The record with the origin's change tag, creation and modification.
    case saved(StoredRecord)
    case deleted(RecordID)

    public var recordID: RecordID {
        switch self {
        case .saved(let record): record.recordID
        case .deleted(let recordID): recordID
        }
    }

    /// `nil` for a deletion.
    public var record: StoredRecord? {
        if case .saved(let record) = self { record } else { nil }
    }
}

/// Changes received from the origin, stored in one transaction. Storing them again changes nothing.
public struct MirrorBatch: Sendable {
    public struct Change: Sendable {
        public var version: OriginVersion
        /// ``UnsentEdit/position`` of the edit that the origin accepted with this version; `nil` for any other version.
        public var accepted: Int64?
        /// True to store the record even if the mirror already has this version, because its files were fetched since.
        public var replacesSame: Bool

        public init(_ version: OriginVersion, accepted: Int64? = nil, replacesSame: Bool = false) {
            self.version = version
            self.accepted = accepted
            self.replacesSame = replacesSame
        }
    }

    /// The zone of the changes. From the first batch on, the zone is a mirror: saves and deletions by other callers
    /// are unsent edits.
    public var zoneID: ZoneID?
    /// Applied in order.
    public var changes: [Change]
    /// Types to add to the schema. If a type exists, the fields and indexes that it lacks are added. Types need no
    /// zone.
    public var types: [RecordType]
    /// Marks to set or (`nil`) remove. The mirroring code stores its own data in marks, such as change tokens.
    public var marks: [Name: String?]
    /// Names of records that still exist in the origin. They are stored in order to find the records that no longer
    /// exist there, see ``RecordMirroring/namesMissingInOrigin(in:recordType:after:limit:)``.
    public var originNames: [Name]
    /// True to delete all stored names of this kind for the zone before those of this batch are stored.
    public var clearsOriginNames: Bool
    /// Versions of edits that are about to be sent: ``UnsentEdit/version``.
    public var sending: [OriginVersion]
    /// The origin's user, if the zone belongs to another user who shares it with that user. The zone then appears in
    /// the user's shared database here too, for reading and writing, without a share record.
    public var guest: Name?

    public init(
        _ zoneID: ZoneID? = nil, changes: [Change] = [], types: [RecordType] = [], marks: [Name: String?] = [:],
        originNames: [Name] = [],
        clearsOriginNames: Bool = false, sending: [OriginVersion] = [], guest: Name? = nil
    ) {
        self.zoneID = zoneID
        self.changes = changes
        self.types = types
        self.marks = marks
        self.originNames = originNames
        self.clearsOriginNames = clearsOriginNames
        self.sending = sending
        self.guest = guest
    }
}

/// The effects of a ``MirrorBatch``.
public struct MirrorOutcome: Sendable, Hashable {
    public var saved = 0
    public var deleted = 0
    /// Number of versions that the mirror already had.
    public var unchanged = 0
    /// Number of edits that the origin now has.
    public var sent = 0
    /// Records with an edit that were meanwhile changed in the origin.
    public var conflicts: [RecordID] = []
    /// Records among ``saved`` with encrypted fields, in the public database: ``RecordFinding/encryptedInPublic(_:)``.
    public var encryptedInPublic = 0

    public init() {}
}

/// The saves and deletions of one record in a mirror that the origin does not have yet.
public struct UnsentEdit: Sendable, Hashable {
    public var recordID: RecordID
    /// Position of the first save or deletion. Edits are sent in the order of these positions.
    public var since: Int64
    /// Position of the latest save or deletion.
    public var position: Int64
    /// The record in the mirror; `nil` if it was deleted here.
    public var mine: StoredRecord?
    /// The version in the origin on which the edit is based; `nil` for a record that was created here.
    public var base: StoredRecord?
    /// The version that was sent last and whose result is not known yet.
    public var sent: OriginVersion?
    /// A later version in the origin. This is a conflict: the edit is not sent until the conflict is settled.
    public var theirs: OriginVersion?

    public init(
        recordID: RecordID, since: Int64, position: Int64, mine: StoredRecord?, base: StoredRecord?,
        sent: OriginVersion? = nil,
        theirs: OriginVersion? = nil
    ) {
        self.recordID = recordID
        self.since = since
        self.position = position
        self.mine = mine
        self.base = base
        self.sent = sent
        self.theirs = theirs
    }

    /// The version that the origin will have after accepting the edit.
    public var version: OriginVersion { mine.map { .saved($0) } ?? .deleted(recordID) }
}

/// The way to end a conflict between an edit and a later version in the origin.
public enum ConflictSettlement: String, Sendable, Hashable, CaseIterable {
    /// The edit is dropped.
    case theirs
    /// The edit is kept, and is sent as a change of the later version.
    case mine
}

/// The two versions of a record in conflict, by their change tags.
public struct ConflictVersions: Sendable, Hashable {
    /// The record's change tag here; `nil` if the record was deleted here.
    public var mine: String?
    /// The record's change tag in the origin; `nil` if the record was deleted there.
    public var theirs: String?

    public init(mine: String?, theirs: String?) {
        self.mine = mine
        self.theirs = theirs
    }

    public init(of edit: UnsentEdit) {
        self.init(mine: edit.mine?.recordChangeTag, theirs: edit.theirs?.record?.recordChangeTag)
    }
}
