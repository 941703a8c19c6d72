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

/// Converts file positions to progress reports, at most a hundred per phase.
struct ProgressMeter {
    private let phase: ImportProgress.Phase
    private let starts: [Int]
    private let total: Int
    private let progress: (ImportProgress) -> Void
    private var rows = 0
    private var percent = -1

    init(_ phase: ImportProgress.Phase, _ files: [ImportFile], _ progress: @escaping (ImportProgress) -> Void) {
        self.phase = phase
        self.progress = progress
        var start = 0
        starts = files.map { file in
            defer { start += file.size }
            return start
        }
        total = max(start, 1)
    }

    /// - Throws: `CancellationError` if the task is cancelled.
    mutating func count(at offset: Int, of file: Int) throws {
        // Checks at each row, because a single row may be as large as thousands.
        try Task.checkCancellation()
        rows += 1
        let done = starts[file] + offset
        let percent = done * 100 / total
        if percent == self.percent { return }
        self.percent = percent
        progress(ImportProgress(phase: phase, fraction: min(1, Double(done) / Double(total)), count: rows))
    }
}
