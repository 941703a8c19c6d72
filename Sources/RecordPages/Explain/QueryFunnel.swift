internal import Console
internal import RecordStore

/// The work of a query as a drawing that narrows: the index entries that it read, the records that it read, and those that it returned.
struct QueryFunnel: ViewModel {
    struct Stage: ViewModel {
        /// `entries`, `records` or `returned`.
        let tone: String
        let x: Int
        let y: String
        let height: String
    }

    let label: String
    let stages: [Stage]
    /// The outlines of the parts between two stages.
    let joints: [String]

    /// The size of the drawing, and the width of a stage without the joint after it.
    private static let (width, height, stageWidth) = (300, 60.0, 76)
    /// A part of nothing at all would not be visible.
    private static let least = 1.5
}

extension QueryFunnel {
    /// - Returns: `nil` for a query that read nothing and returned nothing.
    init?(_ explanation: QueryExplanation) {
        let counts = [explanation.entriesRead, explanation.recordsRead, explanation.recordsReturned]
        guard let most = counts.max(), most > 0 else { return nil }
        let step = Self.width / counts.count
        let heights = counts.map { max(Self.least, Double($0) / Double(most) * Self.height) }
        func y(_ index: Int, _ side: Double) -> String { Digits.fixed((Self.height + side * heights[index]) / 2, 2) }
        stages = zip(counts.indices, ["entries", "records", "returned"]).map { index, tone in
            Stage(tone: tone, x: index * step, y: y(index, -1), height: Digits.fixed(heights[index], 2))
        }
        joints = counts.indices.dropLast().map { index in
            let (from, to) = (index * step + Self.stageWidth, (index + 1) * step)
            return "M\(from) \(y(index, -1))L\(to) \(y(index + 1, -1))V\(y(index + 1, 1))L\(from) \(y(index, 1))z"
        }
        label =
            "\(Digits.count(counts[0], "entry", plural: "entries")) and \(Digits.count(counts[1], "record")) read, \(Digits.count(counts[2], "record")) returned"
    }
}
