internal import RecordStore
internal import Records

/// The whole feed as a line: how far the token reaches, and which part the page shows.
struct FeedTimeline: ViewModel {
    /// In thousandths of the line.
    let tokenX: Int
    let pageX: Int
    let pageWidth: Int
    let hasToken: Bool
    let label: String
    let start: String
    let token: String?
    let part: String?
    let now: String

    static let width = 1000

    /// - Returns: `nil` where nothing is known of the positions.
    init?(_ page: ZoneChangesPage?, since: ChangeToken?, current: ChangeToken?, visit: Visit) async throws {
        guard let page, let current, let explaining = visit.database as? any TokenExplaining,
            let end = try? await visit.measure({ try await explaining.explain(current) }), end.position > 0
        else { return nil }
        var begin: TokenExplanation?
        if let since { begin = try? await visit.measure { try await explaining.explain(since) } }
        let positions = page.changes.map(\.position)
        func x(_ position: Int64) -> Int {
            Int((Double(min(max(position, 0), end.position)) / Double(end.position) * Double(Self.width)).rounded())
        }
        hasToken = begin != nil
        tokenX = begin.map { x($0.position) } ?? 0
        let first = positions.min() ?? end.position
        let last = positions.max() ?? end.position
        pageX = min(x(first), Self.width - 3)
        pageWidth = positions.isEmpty ? 0 : max(3, x(last) - x(first))
        start = "0"
        token = begin.map { "your token · \(Digits.grouped($0.position))" }
        part = positions.isEmpty ? nil : "this page · \(Digits.grouped(first)) to \(Digits.grouped(last))"
        now = "now · \(Digits.grouped(end.position))"
        label =
            positions.isEmpty
            ? "The feed up to position \(Digits.grouped(end.position)); nothing on this page"
            : "The feed up to position \(Digits.grouped(end.position)); this page shows \(Digits.grouped(first)) to \(Digits.grouped(last))"
    }
}
