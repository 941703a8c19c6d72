public import Records

/// One committed change, as needed for subscriptions.
public struct CommittedChange: Sendable, Hashable {
    /// The change of a record.
    public struct OfRecord: Sendable, Hashable {
        public var event: Subscription.Event
        /// The record after the change; for a deletion, before it.
        public var record: StoredRecord
        /// False for a deletion if the record's earlier state is no longer known. It may then match any query.
        public var isKnown: Bool
        public var signature: Signature
    }

    public var position: Int64
    /// Contains the owner.
    public var zoneID: ZoneID
    /// The user in whose private database the change took place; `nil` for the public database, and if only guests see
    /// the change.
    public var owner: Name?
    /// Users in whose shared databases the change appears, if they have subscriptions there.
    public var guests: Set<Name>
    /// `nil` if the zone itself was created or ended.
    public var record: OfRecord?

    /// True if the zone is in the public database.
    public var isPublic: Bool { zoneID.ownerRecordName == ZoneID.publicOwner }

    /// True if the change appears in a database of the caller.
    public func isSeen(by caller: Caller, in scope: DatabaseScope) -> Bool {
        switch scope {
        case .public: isPublic
        case .private: owner == caller.userRecordName
        case .shared: guests.contains(caller.userRecordName)
        }
    }

    public init(position: Int64, zoneID: ZoneID, owner: Name?, guests: Set<Name>, record: OfRecord? = nil) {
        self.position = position
        self.zoneID = zoneID
        self.owner = owner
        self.guests = guests
        self.record = record
    }

    /// The changes of a record after a position.
    /// - Parameters:
    ///   - states: the record's states, latest first. The last one is at or before the position, if it is still kept.
    ///   - zone: the zone, as in a change of the zone itself.
    public static func all(
        of record: StoredRecord, _ states: [RecordJournalEntry], after position: Int64, in zone: CommittedChange
    ) -> [CommittedChange] {
        states.enumerated().filter { $0.element.position > position }.map { index, state in
            let event: Subscription.Event =
                switch state.kind {
                case .created: .create
                case .modified: .update
                case .deleted: .delete
                }
            let before = states.dropFirst(index + 1).first.flatMap { $0.kind == .deleted ? nil : $0 }
            let shown = event == .delete ? before ?? state : state
            var change = zone
            change.position = state.position
            change.record = OfRecord(
                event: event,
                record: StoredRecord(
                    recordID: RecordID(recordName: record.recordID.recordName, zoneID: zone.zoneID),
                    recordType: shown.recordType,
                    recordChangeTag: shown.recordChangeTag, created: record.created, modified: shown.signature,
                    parent: shown.parent,
                    fields: shown.fields),
                isKnown: event != .delete || before != nil, signature: state.signature)
            return change
        }
    }
}

/// A subscription with its owner.
public struct OwnedSubscription: Sendable, Hashable {
    public var user: Name
    public var scope: DatabaseScope
    /// The last position before the subscription was saved. It fires for later changes only.
    public var position: Int64
    /// The position of the change that fired a subscription that fires once; `nil` if it has not fired. Later changes
    /// don't fire it.
    public var lastPosition: Int64?
    /// True if roles limit the records that the user may read.
    public var isHeldToRoles: Bool
    public var subscription: Subscription

    public init(user: Name, scope: DatabaseScope, position: Int64, isHeldToRoles: Bool, subscription: Subscription) {
        self.user = user
        self.scope = scope
        self.position = position
        self.isHeldToRoles = isHeldToRoles
        self.subscription = subscription
    }
}

/// A change, and the subscriptions that it fired.
public struct Firing: Sendable, Hashable {
    public var change: CommittedChange
    /// Ordered by user, database and id.
    public var subscriptions: [OwnedSubscription]

    public init(_ change: CommittedChange, _ subscriptions: [OwnedSubscription]) {
        self.change = change
        self.subscriptions = subscriptions
    }

    /// Approximate size in memory, in bytes.
    public var size: Int {
        500 + (change.record?.record.fields.bytes.count ?? 0) + subscriptions.count
            * MemoryLayout<OwnedSubscription>.stride
    }
}

/// A page of the changes after a position that fire subscriptions, in commit order.
public struct FiringPage: Sendable, Hashable {
    /// Maximum number of records in a page. Changes of one record in two pages count as its latest change.
    public static let recordLimit = 2000
    /// Size in memory, in bytes, at which a page ends.
    public static let sizeLimit = 8 << 20

    public var firings: [Firing]
    /// The position up to which all changes were examined.
    public var position: Int64
    public var moreComing: Bool

    public init(_ firings: [Firing] = [], position: Int64, moreComing: Bool = false) {
        self.firings = firings
        self.position = position
        self.moreComing = moreComing
    }
}
