internal import Synchronization

/// Faults requested by one request in addition to those that are on, and the faults that affected its response.
public final class RehearsalScope: Sendable {
    /// The scope of the current request.
    @TaskLocal public static var current: RehearsalScope?

    /// Faults requested by the request itself.
    public let asked: Set<Rehearsal>
    /// True if no fault affects the request.
    public let isExempt: Bool
    private let noted = Mutex<Set<Rehearsal>>([])

    public init(asking asked: Set<Rehearsal> = [], isExempt: Bool = false) {
        self.asked = asked
        self.isExempt = isExempt
    }

    /// The faults that affected the response so far, in the order of ``Rehearsal``.
    public var shaped: [Rehearsal] {
        let noted = noted.withLock { $0 }
        return Rehearsal.allCases.filter { noted.contains($0) }
    }

    /// Records that a fault affected the response.
    public func note(_ rehearsal: Rehearsal) {
        _ = noted.withLock { $0.insert(rehearsal) }
    }
}
