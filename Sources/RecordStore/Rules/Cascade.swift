public import Records

/// A deleted record whose DELETE_SELF referrers must be deleted too.
public struct DeletedTarget: Sendable, Hashable {
    /// The engine's key of the zone.
    public let zone: Int64
    public let name: Name
    /// Position of the deletion. Records saved after it stay.
    public let position: Int64
    /// User and time of the deletion that started the cascade.
    public let signature: Signature

    public init(zone: Int64, name: Name, position: Int64, signature: Signature) {
        self.zone = zone
        self.name = name
        self.position = position
        self.signature = signature
    }
}

/// The result of deleting a record.
public struct RecordDeletion: Sendable {
    public let position: Int64
    /// Names of records that it referred to with VALIDATE.
    public let validated: [Name]

    public init(position: Int64, validated: [Name]) {
        self.position = position
        self.validated = validated
    }
}

/// The operations of an engine's open transaction that a cascade needs.
public protocol CascadeTransaction: HierarchyTransaction {
    /// Turns a record into a deletion.
    /// - Returns: `nil` if the record no longer exists.
    func delete(_ record: StoredRecord, in zone: Int64, by signature: Signature) throws -> RecordDeletion?

    /// Names of the records that refer to a target with DELETE_SELF and were last saved before it was deleted.
    func dependents(of target: DeletedTarget) throws -> [Name]

    /// True if the record must still be deleted: it was not deleted or saved in the meantime, and its zone exists.
    func isToBeDeleted(_ record: BlockedDeletion) throws -> Bool

    /// The zone, with its owner.
    func zoneID(of zone: Int64) throws -> ZoneID

    /// The reference actions other than NONE with which other records refer to a name.
    func actions(on name: Name, in zone: Int64) throws -> Set<Reference.Action>
}

/// Deletes records whose DELETE_SELF references point to a deleted record, level by level and in steps.
///
/// A record that is the target of a VALIDATE reference waits until all others are deleted, since the referring record
/// may be among them. If it is still referenced then, it rests until a referring record is deleted. If none is, it
/// stays, as do the records that depend on it. So each record is examined once for each DELETE_SELF reference, once
/// more at the end, and once for each deleted record that validated it.
public struct Cascade<Queue: CascadeQueue> {
    /// Number of examined records, or of deleted copies in guests' views, that count as one deletion.
    private static var looksForFall: Int { 4 }

    /// The remaining work.
    public private(set) var queue: Queue
    /// True if records are deleted even if others refer to them with VALIDATE.
    private var isForced = false
    private var count = 0
    private var looks = 0
    /// True once a record was deleted or queued, or an item was finished. A step that stops earlier would only be
    /// repeated.
    private var hasProgress = false
    /// Deleted records that others refer to with VALIDATE.
    public private(set) var validated: [DeletedTarget] = []
    /// The deleted records, with their last change tags.
    public private(set) var cascaded: [(name: Name, recordChangeTag: String)] = []
    /// The hierarchy walks below deleted records, which the caller must run.
    public private(set) var walks: [HierarchyWalk.Item] = []

    public init(_ queue: Queue) { self.queue = queue }

    /// Work so far, measured in deletions: the deleted records, or the equivalent of the examined ones if that is
    /// more.
    public var work: Int { max(count, looks / Self.looksForFall) }

    /// Processes at least one target or record.
    /// - Parameter mayGoOn: called before each further target and record with the ``work`` so far; `false` stops.
    /// - Returns: `true` if the cascade is finished. Records that are still at rest can't be deleted.
    public mutating func run(in transaction: any CascadeTransaction, while mayGoOn: (Int) -> Bool) throws -> Bool {
        while let item = try queue.next() {
            guard !hasProgress || mayGoOn(work) else { return false }
            switch item {
            case .target(let target):
                guard try delete(by: target, in: transaction, while: mayGoOn) else { return false }
            case .record(let record):
                if try transaction.isToBeDeleted(record), try !delete(record, in: transaction) {
                    try queue.rest(record)
                    hasProgress = true
                    continue
                }
            }
            looks += 1
            try queue.finish(item)
            hasProgress = true
        }
        return true
    }

    /// - Returns: `true` if all referrers of the target were examined.
    private mutating func delete(
        by target: DeletedTarget, in transaction: any CascadeTransaction, while mayGoOn: (Int) -> Bool
    ) throws -> Bool {
        for name in try transaction.dependents(of: target) {
            let record = BlockedDeletion(name, by: target)
            if try queue.isHeld(record) { continue }
            guard !hasProgress || mayGoOn(work) else { return false }
            if try !delete(record, in: transaction) {
                try queue.hold(record)
                hasProgress = true
            }
        }
        return true
    }

    /// - Returns: `false` if the record can't be deleted yet.
    private mutating func delete(_ blocked: BlockedDeletion, in transaction: any CascadeTransaction) throws -> Bool {
        looks += 1
        let (name, zone, signature) = (blocked.name, blocked.target.zone, blocked.target.signature)
        let actions = try transaction.actions(on: name, in: zone)
        if actions.contains(.validate), !isForced { return false }
        // A record that is already deleted is not found again, so cycles end.
        guard let record = try transaction.record(named: name, in: zone),
            try mayDelete(record, in: zone, by: signature, transaction),
            let deletion = try transaction.delete(record, in: zone, by: signature)
        else { return true }
        // Each guest's view has a copy of a shared record, which is deleted too.
        if let hierarchy = record.sharing?.hierarchy { looks += try transaction.views(of: hierarchy).count }
        cascaded.append((name, record.recordChangeTag))
        walks += try transaction.followDeletion(of: record, in: zone, by: signature)
        let target = DeletedTarget(zone: zone, name: name, position: deletion.position, signature: signature)
        if actions.contains(.deleteSelf) { try queue.add(target) }
        if actions.contains(.validate) { validated.append(target) }
        if !deletion.validated.isEmpty { try queue.wake(deletion.validated, in: zone) }
        count += 1
        hasProgress = true
        return true
    }

    /// False for records that must stay, whatever they refer to: user records, shares and, if the caller is a guest,
    /// the roots of shares, because a guest must not end a share.
    private func mayDelete(
        _ record: StoredRecord, in zone: Int64, by signature: Signature, _ transaction: any CascadeTransaction
    ) throws -> Bool {
        if record.recordType == Schema.usersType { return false }
        guard try transaction.isRoot(record) else { return true }
        return try record.sharing?.share == nil
            && transaction.zoneID(of: zone).ownerRecordName == signature.userRecordName
    }
}

extension Cascade<CascadeMemory> {
    /// Deletes all resting records too. The caller must then check for remaining references to them (``validated``).
    /// - Returns: `true` if the cascade is finished.
    public mutating func force(in transaction: any CascadeTransaction, while mayGoOn: (Int) -> Bool) throws -> Bool {
        isForced = true
        queue.wakeAll()
        return try run(in: transaction, while: mayGoOn)
    }
}

// MARK: - Queues

/// A record to be deleted with a target as soon as no other record refers to it with VALIDATE.
public struct BlockedDeletion: Sendable, Hashable {
    public let name: Name
    /// The target. It determines the zone, the caller, and the position: a record saved after it stays. The name may
    /// be missing.
    public let target: DeletedTarget

    public init(_ name: Name, by target: DeletedTarget) {
        self.name = name
        self.target = target
    }
}

/// An item of a cascade's queue.
public enum CascadeItem: Sendable {
    /// A target whose referrers must be deleted.
    case target(DeletedTarget)
    /// A record to be deleted if that is possible now.
    case record(BlockedDeletion)
}

/// The queue of a cascade: first targets, then waiting records, each in order of arrival. Resting records are
/// returned only after a record that referred to them with VALIDATE was deleted.
///
/// The order does not depend on the storage or the size of the steps, so all engines delete in the same order.
public protocol CascadeQueue {
    /// The next item; `nil` if there is none. It remains in the queue until ``finish(_:)`` or ``rest(_:)``.
    mutating func next() throws -> CascadeItem?

    mutating func finish(_ item: CascadeItem) throws

    mutating func add(_ target: DeletedTarget) throws

    /// Appends a record to the waiting ones.
    mutating func hold(_ record: BlockedDeletion) throws

    /// True if the record is waiting or at rest. If the target of `record` was deleted later than the target known so
    /// far, it replaces that target, and a record at rest waits again, because it may have been saved between the two
    /// deletions.
    mutating func isHeld(_ record: BlockedDeletion) throws -> Bool

    /// Puts the record returned by ``next()`` at rest, because another record still refers to it with VALIDATE.
    mutating func rest(_ record: BlockedDeletion) throws

    /// Moves the records at rest with these names to the waiting ones.
    mutating func wake(_ names: [Name], in zone: Int64) throws
}

/// A cascade queue in memory, for cascades within one transaction.
public struct CascadeMemory: CascadeQueue {
    private struct Place: Hashable {
        let zone: Int64
        let name: Name

        init(_ record: BlockedDeletion) { (zone, name) = (record.target.zone, record.name) }
        init(_ name: Name, in zone: Int64) { (self.zone, self.name) = (zone, name) }
    }

    private var targets: [DeletedTarget]
    private var nextTarget = 0
    private var held: [Place: BlockedDeletion] = [:]
    private var order: [Place] = []
    private var nextHeld = 0
    private var resting: Set<Place> = []

    /// - Parameter targets: in the order in which their referrers are deleted.
    public init(_ targets: [DeletedTarget]) { self.targets = targets }

    /// True if records are waiting or at rest.
    public var holdsRecords: Bool { !held.isEmpty }

    /// All targets that may still have referrers.
    public var targetsLeft: [DeletedTarget] {
        let waiting = Set(held.values.map(\.target)).subtracting(targets[nextTarget...])
        return targets[nextTarget...] + waiting.sorted { $0.position < $1.position }
    }

    public func next() -> CascadeItem? {
        if nextTarget < targets.count { return .target(targets[nextTarget]) }
        return nextHeld < order.count ? held[order[nextHeld]].map { .record($0) } : nil
    }

    public mutating func finish(_ item: CascadeItem) {
        switch item {
        case .target: nextTarget += 1
        case .record(let record):
            held[Place(record)] = nil
            nextHeld += 1
        }
    }

    public mutating func add(_ target: DeletedTarget) { targets.append(target) }

    public mutating func hold(_ record: BlockedDeletion) {
        held[Place(record)] = record
        order.append(Place(record))
    }

    public mutating func isHeld(_ record: BlockedDeletion) -> Bool {
        let place = Place(record)
        guard let before = held[place] else { return false }
        if before.target.position < record.target.position {
            held[place] = record
            if resting.remove(place) != nil { order.append(place) }
        }
        return true
    }

    public mutating func rest(_ record: BlockedDeletion) {
        resting.insert(Place(record))
        nextHeld += 1
    }

    public mutating func wake(_ names: [Name], in zone: Int64) {
        for name in names {
            let place = Place(name, in: zone)
            if resting.remove(place) != nil { order.append(place) }
        }
    }

    /// Moves all records at rest to the waiting ones, ordered by target and name.
    mutating func wakeAll() {
        order += resting.compactMap { held[$0] }.sorted {
            ($0.target.position, $0.name) < ($1.target.position, $1.name)
        }.map { Place($0) }
        resting = []
    }
}
