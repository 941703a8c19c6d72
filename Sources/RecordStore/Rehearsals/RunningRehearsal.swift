public import Records

/// A fault injection that is on.
public struct RunningRehearsal: Sendable, Hashable {
    public let rehearsal: Rehearsal
    public let area: RehearsalArea
    /// Number of requests still to fail; `nil` for faults of another kind.
    public internal(set) var remaining: Int?
    public let since: Timestamp

    public init(rehearsal: Rehearsal, area: RehearsalArea, remaining: Int?, since: Timestamp) {
        self.rehearsal = rehearsal
        self.area = area
        self.remaining = remaining
        self.since = since
    }
}
