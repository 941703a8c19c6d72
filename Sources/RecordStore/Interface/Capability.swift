public import Records

/// Something that not every store can do, and the part of the store that does it. Each part declares its own.
public struct Capability<Part>: Sendable {
    /// Completes the sentence "This store can't …".
    public let task: String
    /// True for what a feed or a user is needed for: the public database has neither.
    let isForUsers: Bool

    init(_ task: String, isForUsers: Bool = false) {
        self.task = task
        self.isForUsers = isForUsers
    }
}

/// A store that hands out its optional parts: an engine, or one of its databases.
public protocol Capable: Sendable {
    /// The part with a capability; `nil` if the store lacks it: itself, if its type conforms to the part.
    ///
    /// If the store is another server, the parts are those of its kind: the calls throw what the one server lacks.
    func part<Part>(_ capability: Capability<Part>) -> Part?

    /// True if it is worth asking for a part.
    func can<Part>(_ capability: Capability<Part>) -> Bool

    /// The error for a missing capability: `RecordError` BAD_REQUEST, unless the store says it in its own words.
    func unable(to task: String) -> RecordError
}

extension Capable {
    public func part<Part>(_ capability: Capability<Part>) -> Part? { self as? Part }
    public func can<Part>(_ capability: Capability<Part>) -> Bool { part(capability) != nil }

    /// The part with a capability.
    /// - Throws: ``unable(to:)`` without it.
    @discardableResult
    public func require<Part>(_ capability: Capability<Part>) throws -> Part {
        guard let part = part(capability) else { throw unable(capability) }
        return part
    }

    public func unable<Part>(_ capability: Capability<Part>) -> RecordError { unable(to: capability.task) }
    public func unable(to task: String) -> RecordError { RecordError(.badRequest, "This store can't \(task)") }
}
