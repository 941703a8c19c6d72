public import Records

/// A fault injection that is on.
public struct ActiveFault: Sendable, Hashable {
    public let fault: InjectedFault
    public let area: FaultArea
    /// Number of requests still to fail; `nil` for faults of another kind.
    public internal(set) var remaining: Int?
    public let since: Timestamp

    public init(fault: InjectedFault, area: FaultArea, remaining: Int?, since: Timestamp) {
        self.fault = fault
        self.area = area
        self.remaining = remaining
        self.since = since
    }
}
