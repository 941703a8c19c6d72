/// The progress of an import.
public struct ImportProgress: Sendable, Hashable {
    public enum Phase: String, Sendable, Hashable, CaseIterable {
        /// Determines the types of the columns.
        case reading
        /// Validates every row.
        case checking
        case saving
    }

    public var phase: Phase
    /// The completed fraction of the phase, from 0 to 1.
    public var fraction: Double
    /// The number of rows read, or records saved, in this phase.
    public var count: Int

    public init(phase: Phase, fraction: Double, count: Int) {
        self.phase = phase
        self.fraction = fraction
        self.count = count
    }
}
