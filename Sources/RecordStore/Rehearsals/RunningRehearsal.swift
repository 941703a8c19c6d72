public import Records

/// A rehearsal that is on.
public struct RunningRehearsal: Sendable, Hashable {
    public let rehearsal: Rehearsal
    public let area: RehearsalArea
    /// How many requests are still to fail; `nil` where none does.
    public internal(set) var remaining: Int?
    public let since: Timestamp

    public init(rehearsal: Rehearsal, area: RehearsalArea, remaining: Int?, since: Timestamp) {
        self.rehearsal = rehearsal
        self.area = area
        self.remaining = remaining
        self.since = since
    }
}
