public import JSON

/// A record that falls with a target, as soon as no other one refers to it with VALIDATE.
public struct HeldRecord: Sendable, Hashable {
    public let name: Name
    /// Stands for the target: the zone, who deletes, and the position after which a save keeps the record. Its name counts only where it is told.
    public let target: FallenTarget

    public init(_ name: Name, by target: FallenTarget) {
        self.name = name
        self.target = target
    }
}

/// What a cascade still has to look at.
public enum CascadeItem: Sendable {
    /// Its referrers are to fall.
    case target(FallenTarget)
    /// It is to fall if it can by now.
    case record(HeldRecord)
}

/// The order of a cascade: targets first, as they came; then the records that are held, as they came; and never those that rest, until one
/// falls that refers to them with VALIDATE.
///
/// The order is the same wherever it is kept and however the work is cut into steps, so that all engines let fall in the same order.
public protocol CascadeQueue {
    /// What comes next; `nil` when nothing does. It stays until it is ``finish(_:)``ed, or rests.
    mutating func next() throws -> CascadeItem?

    mutating func finish(_ item: CascadeItem) throws

    mutating func add(_ target: FallenTarget) throws

    /// Takes in a record behind those that are held already.
    mutating func hold(_ record: HeldRecord) throws

    /// Whether a record is held or rests. With a target that fell later than the one that it was held for, it is held for that one, and no
    /// longer rests: it may have been saved in between.
    mutating func isHeld(_ record: HeldRecord) throws -> Bool

    /// Lets a record rest that ``next()`` gave, since another one still refers to it with VALIDATE.
    mutating func rest(_ record: HeldRecord) throws

    /// Takes up those of the names that rest, behind the records that are held.
    mutating func wake(_ names: [Name], in zone: Int64) throws
}
