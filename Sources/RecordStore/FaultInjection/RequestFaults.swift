internal import Synchronization

/// Faults requested by one request in addition to those that are on, and the faults that affected its response.
public final class RequestFaults: Sendable {
    /// The scope of the current request.
    @TaskLocal public static var current: RequestFaults?

    /// Faults requested by the request itself.
    public let asked: Set<InjectedFault>
    /// The items that fail, if the request asks for `partial-failure`.
    public let items: FailingItems
    /// True if no fault affects the request.
    public let isExempt: Bool
    private let noted = Mutex<Set<InjectedFault>>([])

    public init(asking asked: Set<InjectedFault> = [], items: FailingItems = .standard, isExempt: Bool = false) {
        self.asked = asked
        self.items = items
        self.isExempt = isExempt
    }

    /// The faults that affected the response so far, in the order of ``InjectedFault``.
    public var shaped: [InjectedFault] {
        let noted = noted.withLock { $0 }
        return InjectedFault.allCases.filter { noted.contains($0) }
    }

    /// Records that a fault affected the response.
    public func note(_ fault: InjectedFault) {
        _ = noted.withLock { $0.insert(fault) }
    }
}
