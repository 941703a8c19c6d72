/// Finds out that the pages of a query or feed lead in a circle, by their markers or tokens (Brent's algorithm).
///
/// A server that sends its client in a circle would be asked for pages forever.
public struct CycleDetector: Sendable {
    /// A cursor that later ones are compared with. It moves on after 1, 2, 4, 8 and more pages, so that it gets into circles of any length.
    private var landmark: String?
    private var latest: String?
    private var (steps, lap) = (0, 1)

    /// - Parameter start: the cursor of the first page; `nil` for the beginning.
    public init(from start: String?) {
        (landmark, latest) = (start, start)
    }

    /// To be called with the cursor of each next page.
    /// - Returns: true if it leads back to an earlier page. In a longer circle the answer comes within a few rounds.
    public mutating func isClosed(by next: String) -> Bool {
        if next == landmark || next == latest { return true }
        latest = next
        steps += 1
        if steps == lap { (landmark, steps, lap) = (next, 0, lap &<< 1) }
        return false
    }
}
