/// How a page of a query was found, as the engine chose it: what ``QueryExplanation`` says at length, for every query that runs.
public struct ChosenPlan: Sendable {
    /// The index that found the records or gave their order; `nil` where none did.
    public var index: QueryIndex?
    private let words: @Sendable () -> String

    /// - Parameter summary: what ``summary`` says, which is put into words only for those who ask.
    public init(index: QueryIndex?, summary: @escaping @autoclosure @Sendable () -> String) {
        self.index = index
        words = summary
    }

    /// What was done, in one or two sentences.
    public var summary: String { words() }
}
