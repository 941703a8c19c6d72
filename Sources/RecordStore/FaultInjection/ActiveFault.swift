public import Records

/// A fault injection that is on.
public struct ActiveFault: Sendable, Hashable {
    public let fault: InjectedFault
    public let area: FaultArea
    /// Number of requests still to fail; `nil` for faults of another kind.
    public internal(set) var remaining: Int?
    /// The items that fail, for `partial-failure`; `nil` for the others.
    public let items: FailingItems?
    public let since: Timestamp

    public init(fault: InjectedFault, area: FaultArea, remaining: Int?, items: FailingItems? = nil, since: Timestamp) {
        self.fault = fault
        self.area = area
        self.remaining = remaining
        self.items = items
        self.since = since
    }
}
