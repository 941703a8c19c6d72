/// A summary of how a page of a query was found, available for every query. ``QueryExplanation`` has the details.
public struct ChosenPlan: Sendable {
    /// The index that found or ordered the records; `nil` if none did.
    public var index: QueryIndex?
    private let words: @Sendable () -> String

    /// - Parameter summary: evaluated only when ``summary`` is read.
    public init(index: QueryIndex?, summary: @escaping @autoclosure @Sendable () -> String) {
        self.index = index
        words = summary
    }

    /// Describes the plan in one or two sentences.
    public var summary: String { words() }
}
