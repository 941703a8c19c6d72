internal import Synchronization

/// What one request rehearses beyond what is on, and what of all that shaped its answer.
public final class RehearsalScope: Sendable {
    /// The scope of the request that is worked on.
    @TaskLocal public static var current: RehearsalScope?

    /// What the request itself asked for.
    public let asked: Set<Rehearsal>
    /// Whether the request is to see everything as it is, whatever is on.
    public let isExempt: Bool
    private let noted = Mutex<Set<Rehearsal>>([])

    public init(asking asked: Set<Rehearsal> = [], isExempt: Bool = false) {
        self.asked = asked
        self.isExempt = isExempt
    }

    /// What shaped the answer so far, in the order of ``Rehearsal``.
    public var shaped: [Rehearsal] {
        let noted = noted.withLock { $0 }
        return Rehearsal.allCases.filter { noted.contains($0) }
    }

    /// Remembers that a rehearsal shaped the answer.
    public func note(_ rehearsal: Rehearsal) {
        _ = noted.withLock { $0.insert(rehearsal) }
    }
}
