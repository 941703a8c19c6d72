public import JSON

/// A record to be deleted with a target as soon as no other record refers to it with VALIDATE.
public struct HeldRecord: Sendable, Hashable {
    public let name: Name
    /// The target. Provides the zone, the caller and the position after which a save keeps the record. The name may
    /// be missing.
    public let target: FallenTarget

    public init(_ name: Name, by target: FallenTarget) {
        self.name = name
        self.target = target
    }
}

/// An item of a cascade's queue.
public enum CascadeItem: Sendable {
    /// A target whose referrers must be deleted.
    case target(FallenTarget)
    /// A record to be deleted if that is possible now.
    case record(HeldRecord)
}

/// The queue of a cascade: first targets, then waiting records, each in order of arrival. Resting records are
/// returned only after a record that referred to them with VALIDATE was deleted.
///
/// The order does not depend on the storage or the size of the steps, so all engines delete in the same order.
public protocol CascadeQueue {
    /// The next item; `nil` if there is none. It stays in the queue until ``finish(_:)`` or ``rest(_:)``.
    mutating func next() throws -> CascadeItem?

    mutating func finish(_ item: CascadeItem) throws

    mutating func add(_ target: FallenTarget) throws

    /// Appends a record to the waiting ones.
    mutating func hold(_ record: HeldRecord) throws

    /// True if the record waits or rests. If `record` has a target deleted later than the previous one, it replaces
    /// that target and a resting record waits again, because it may have been saved in between.
    mutating func isHeld(_ record: HeldRecord) throws -> Bool

    /// Lets the record returned by ``next()`` rest, because another one still refers to it with VALIDATE.
    mutating func rest(_ record: HeldRecord) throws

    /// Appends the resting records with these names to the waiting ones.
    mutating func wake(_ names: [Name], in zone: Int64) throws
}
