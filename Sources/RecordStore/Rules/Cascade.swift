public import JSON
public import Records

/// A record that was deleted, and whose DELETE_SELF referrers are to go with it.
public struct FallenTarget: Sendable, Hashable {
    /// The engine's key of its zone.
    public let zone: Int64
    public let name: Name
    /// The position of its deletion: a record that was saved after it stays.
    public let position: Int64
    /// Who asked for the deletion that began the cascade, and when.
    public let signature: Signature

    public init(zone: Int64, name: Name, position: Int64, signature: Signature) {
        self.zone = zone
        self.name = name
        self.position = position
        self.signature = signature
    }
}

/// What became of a record that was deleted.
public struct RecordDeletion: Sendable {
    public let position: Int64
    /// The records that it referred to with VALIDATE, by name.
    public let validated: [Name]

    public init(position: Int64, validated: [Name]) {
        self.position = position
        self.validated = validated
    }
}

/// What a cascade needs of an engine while the engine's transaction is open.
public protocol CascadeTransaction: AnyObject {
    /// The record of a name, `nil` when there is none or it was deleted.
    func record(named name: Name, in zone: Int64) throws -> StoredRecord?

    /// Turns a record into a deletion.
    /// - Returns: `nil` when there is no such record any more.
    func delete(_ record: StoredRecord, in zone: Int64, by signature: Signature) throws -> RecordDeletion?

    /// The records that refer to a target with DELETE_SELF and were saved before it was deleted, by name.
    func doomed(by target: FallenTarget) throws -> [Name]

    /// Whether a record that was doomed is so still: neither was it deleted or saved meanwhile, nor has its zone ended.
    func isDoomed(_ record: HeldRecord) throws -> Bool

    /// The actions other than NONE with which other records refer to a name.
    func actions(on name: Name, in zone: Int64) throws -> Set<Reference.Action>
}

/// Records that fall because their DELETE_SELF references point at one that was deleted: level by level, as far as it is let go at a time.
///
/// A record that another one refers to with VALIDATE is held until all others have fallen, since that one may be among them. If it is still
/// referred to then, it rests until one of those falls; if none does, it stays, and so does what hangs on it. So each record is looked at once
/// for each reference that dooms it, once more at the end, and once for each record that falls and validated it.
public struct Cascade<Queue: CascadeQueue> {
    /// Records that are looked at in about the time in which one falls.
    private static var looksForFall: Int { 4 }

    /// What is left.
    public private(set) var queue: Queue
    /// Whether records fall that another one refers to with VALIDATE.
    private var isForced = false
    private var count = 0
    private var looks = 0
    /// Whether a record fell or is held, or an item is finished: a step that stops before has done nothing, and the next would do the same.
    private var hasProgress = false
    /// Records that fell although another one refers to them with VALIDATE.
    public private(set) var validated: [FallenTarget] = []

    public init(_ queue: Queue) { self.queue = queue }

    /// What was done so far, in records that fall: those that did, or as long as it took to look at all others.
    public var work: Int { max(count, looks / Self.looksForFall) }

    /// Goes on, by one target or record at least.
    /// - Parameter mayGoOn: asked before each further target and record, with the ``work`` so far.
    /// - Returns: whether it came to the end. What is left then rests, and can't fall by itself.
    public mutating func run(in transaction: any CascadeTransaction, while mayGoOn: (Int) -> Bool) throws -> Bool {
        while let item = try queue.next() {
            guard !hasProgress || mayGoOn(work) else { return false }
            switch item {
            case .target(let target):
                guard try fell(by: target, in: transaction, while: mayGoOn) else { return false }
            case .record(let record):
                if try transaction.isDoomed(record), try !fell(record, in: transaction) {
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

    /// - Returns: whether all referrers of a target were looked at.
    private mutating func fell(by target: FallenTarget, in transaction: any CascadeTransaction, while mayGoOn: (Int) -> Bool) throws -> Bool {
        for name in try transaction.doomed(by: target) {
            let record = HeldRecord(name, by: target)
            if try queue.isHeld(record) { continue }
            guard !hasProgress || mayGoOn(work) else { return false }
            if try !fell(record, in: transaction) {
                try queue.hold(record)
                hasProgress = true
            }
        }
        return true
    }

    /// - Returns: `false` for a record that can't fall yet.
    private mutating func fell(_ doomed: HeldRecord, in transaction: any CascadeTransaction) throws -> Bool {
        looks += 1
        let (name, zone, signature) = (doomed.name, doomed.target.zone, doomed.target.signature)
        let actions = try transaction.actions(on: name, in: zone)
        if actions.contains(.validate), !isForced { return false }
        // Users stay, whatever they refer to. A name once deleted is not found again, so circles end.
        guard let record = try transaction.record(named: name, in: zone), record.recordType != Schema.usersType,
            let deletion = try transaction.delete(record, in: zone, by: signature)
        else { return true }
        let fallen = FallenTarget(zone: zone, name: name, position: deletion.position, signature: signature)
        if actions.contains(.deleteSelf) { try queue.add(fallen) }
        if actions.contains(.validate) { validated.append(fallen) }
        if !deletion.validated.isEmpty { try queue.wake(deletion.validated, in: zone) }
        count += 1
        hasProgress = true
        return true
    }
}

extension Cascade<CascadeMemory> {
    /// Lets all that rests fall too: whoever refers to it has to be looked for afterwards (``validated``).
    /// - Returns: whether it came to the end.
    public mutating func force(in transaction: any CascadeTransaction, while mayGoOn: (Int) -> Bool) throws -> Bool {
        isForced = true
        queue.wakeAll()
        return try run(in: transaction, while: mayGoOn)
    }
}
