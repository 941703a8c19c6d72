/// How far an import is.
public struct ImportProgress: Sendable, Hashable {
    public enum Phase: String, Sendable, Hashable, CaseIterable {
        /// Finding the types of the columns.
        case reading
        /// Trying every row.
        case checking
        case saving
    }

    public var phase: Phase
    /// How much of the phase is done, 0 to 1.
    public var fraction: Double
    /// Rows read, or records saved, in this phase.
    public var count: Int

    public init(phase: Phase, fraction: Double, count: Int) {
        self.phase = phase
        self.fraction = fraction
        self.count = count
    }
}
