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

/// What a cascade needs of an engine while the engine's transaction is open.
public protocol CascadeTransaction: AnyObject {
    /// The record of a name, `nil` when there is none or it was deleted.
    func record(named name: Name, in zone: Int64) throws -> StoredRecord?

    /// Turns a record into a deletion.
    /// - Returns: the position of the deletion; `nil` when there is no such record any more.
    func delete(_ record: StoredRecord, in zone: Int64, by signature: Signature) throws -> Int64?

    /// The records that refer to a target with DELETE_SELF and were saved before it was deleted, by name.
    func doomed(by target: FallenTarget) throws -> [Name]

    /// The actions other than NONE with which other records refer to a name.
    func actions(on name: Name, in zone: Int64) throws -> Set<Reference.Action>
}

/// Records that fall because their DELETE_SELF references point at one that was deleted: level by level, as far as it is let go at a time.
///
/// A record that another one refers to with VALIDATE waits until all others have fallen, since that one may be among them. If it is still
/// referred to then, it stays, and so does what hangs on it.
public struct Cascade {
    /// Those that it began with, and then those that fell.
    private var targets: [FallenTarget]
    private var next = 0
    private let begun: (count: Int, pass: Int)
    private let followsUp: Bool
    /// Whether records fall that another one refers to with VALIDATE.
    private var isForced = false

    /// Targets with referrers that wait until all others have fallen, in the next pass.
    public private(set) var waiting: [FallenTarget] = []
    /// How often what waits is taken up again by now.
    public private(set) var pass: Int
    /// The last pass in which a record fell; `nil` when none did.
    public private(set) var lastFruitfulPass: Int?
    /// Records that fell.
    public private(set) var count = 0
    /// Records that fell although another one refers to them with VALIDATE.
    public private(set) var validated: [FallenTarget] = []

    /// - Parameters:
    ///   - targets: in the order in which their referrers are to fall.
    ///   - pass: how often they were taken up again before.
    ///   - followsUp: whether what falls is a target in its turn at once. Otherwise it has to wait behind targets that are kept elsewhere.
    public init(_ targets: [FallenTarget], pass: Int = 0, followsUp: Bool = true) {
        self.targets = targets
        begun = (targets.count, pass)
        self.pass = pass
        self.followsUp = followsUp
    }

    /// How many of the targets that it began with have no referrer left that may fall in their pass.
    public var doneCount: Int { pass == begun.pass ? min(next, begun.count) : begun.count }
    /// Targets of this pass that came up on the way and are still to come.
    public var followers: ArraySlice<FallenTarget> { targets[(pass == begun.pass ? max(next, begun.count) : next)...] }
    /// All targets that are still to come, those that wait included.
    public var rest: [FallenTarget] { targets[next...] + waiting }

    /// Goes on, by one target and one record at least.
    /// - Parameter mayGoOn: asked before each further target and record, with how many fell so far.
    /// - Returns: whether it came to the end. ``waiting`` then has what can't fall by itself.
    public mutating func run(in transaction: any CascadeTransaction, while mayGoOn: (Int) -> Bool) throws -> Bool {
        var isFirst = true
        while true {
            while next < (followsUp ? targets.count : begun.count) {
                guard isFirst || mayGoOn(count), try felled(by: targets[next], in: transaction, while: mayGoOn) else { return false }
                isFirst = false
                next += 1
            }
            guard followsUp, lastFruitfulPass == pass, !waiting.isEmpty else { return true }
            takeUpWaiting()
        }
    }

    /// Lets all that waits fall too: whoever refers to it has to be looked for afterwards (``validated``).
    /// - Returns: whether it came to the end.
    public mutating func force(in transaction: any CascadeTransaction, while mayGoOn: (Int) -> Bool) throws -> Bool {
        isForced = true
        takeUpWaiting()
        return try run(in: transaction, while: mayGoOn)
    }

    private mutating func takeUpWaiting() {
        (targets, waiting, next) = (waiting, [], 0)
        pass += 1
    }

    /// - Returns: whether all referrers of a target were looked at.
    private mutating func felled(by target: FallenTarget, in transaction: any CascadeTransaction, while mayGoOn: (Int) -> Bool) throws -> Bool {
        var isWaiting = false
        for name in try transaction.doomed(by: target) {
            // Users stay, whatever they refer to. A name once deleted is not found again, so circles end.
            guard let record = try transaction.record(named: name, in: target.zone), record.recordType != Schema.usersType else { continue }
            let actions = try transaction.actions(on: name, in: target.zone)
            if actions.contains(.validate), !isForced {
                isWaiting = true
                continue
            }
            guard count == 0 || mayGoOn(count) else { return false }
            guard let position = try transaction.delete(record, in: target.zone, by: target.signature) else { continue }
            let fallen = FallenTarget(zone: target.zone, name: name, position: position, signature: target.signature)
            if actions.contains(.deleteSelf) { targets.append(fallen) }
            if actions.contains(.validate) { validated.append(fallen) }
            lastFruitfulPass = pass
            count += 1
        }
        if isWaiting { waiting.append(target) }
        return true
    }
}
