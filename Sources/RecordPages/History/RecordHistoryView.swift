internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The page with the complete history of a record.
struct RecordHistoryView: Page {
    static let template = "record_history"
    static let tab = Tab.fetch

    /// The number of changes on a page.
    private static let limit = 25

    let title: String
    let zone: String
    /// With the title that it has now; without one after its deletion.
    let record: RecordLink
    let history: RecordHistory?
    /// True if the page begins with the latest change.
    let isLatest: Bool
    let milliseconds: String

    static func load(_ visit: Visit) async throws -> RecordHistoryView {
        let (name, zoneID) = try RecordRestoring.target(visit)
        let before = try visit.fields.text("before").map { text in
            guard let position = Int64(text) else { throw RecordError(.badRequest, "‘\(text)’ is not the position of a change") }
            return position
        }
        let history = try await RecordHistory.load(name, in: zoneID, before: before, limit: limit, visit)
        let recordID = RecordID(recordName: name, zoneID: zoneID)
        let titles = try await ReferencedTitles(CollectionOfOne(recordID), known: [], visit)
        return RecordHistoryView(
            title: "History of \(name)", zone: visit.zoneName(zoneID),
            record: RecordLink(href: visit.place.link(toRecord: name, in: zoneID), recordName: name.string, title: titles[recordID]),
            history: history, isLatest: before == nil, milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }
}
