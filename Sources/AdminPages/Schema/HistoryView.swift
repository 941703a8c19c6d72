package import Console
internal import RecordStore
internal import Records

/// The page History: the schema changes with their authors and times.
package struct HistoryView: Page {
    package static let template = "history"
    package static let tab = Tab.history

    struct Row: ViewModel {
        let when: ValueView
        let who: String
        let reason: String
        let explanation: String
        let lines: [Line]
        /// Lines that the user expands.
        let more: [Line]
        let moreText: String
    }

    struct Line: ViewModel {
        let text: String
        /// The page of the type whose fields the line does not all name; `nil` if it names them, or there is no such
        /// type any more.
        let allFields: String?
    }

    /// The number of entries per page.
    private static let limit = 50
    /// The number of initially visible lines of an entry.
    private static let lineLimit = 8

    package let title = Self.tab.title
    let rows: [Row]
    let environment: String
    /// True if the page begins with the latest entry.
    let isLatest: Bool
    let latest: String
    /// The page with earlier entries; `nil` on the last page.
    let earlier: String?
    let count: String
    let milliseconds: String

    package static func load(_ visit: Visit) async throws -> HistoryView {
        let before = try visit.fields.text("before").map { text in
            guard let number = Int64(text) else {
                throw RecordError(.badRequest, "‘\(text)’ is not the number of an entry")
            }
            return number
        }
        // Reads one extra entry to determine whether there is another page.
        let found = try await visit.measure {
            try await visit.database.require(.showSchema).schemaHistory(before: before, limit: limit + 1)
        }
        let entries = found.prefix(limit)
        return HistoryView(
            rows: entries.map { Row($0, visit) }, environment: visit.place.address.environment.rawValue,
            isLatest: before == nil,
            latest: visit.place.link("history"),
            earlier: found.count > limit
                ? entries.last.map { visit.place.link("history", [("before", String($0.number))]) } : nil,
            count: Digits.count(entries.count, "change"), milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }
}

extension HistoryView.Row {
    fileprivate init(_ entry: SchemaHistoryEntry, _ visit: Visit) {
        when = ValueView(.time(entry.timestamp))
        who = visit.people.name(of: entry.userRecordName)
        (reason, explanation) = Self.words(entry.reason)
        let limit = entry.changes.count <= HistoryView.lineLimit + 1 ? entry.changes.count : HistoryView.lineLimit
        lines = entry.changes.prefix(limit).map { HistoryView.Line($0, visit) }
        more = entry.changes.dropFirst(limit).map { HistoryView.Line($0, visit) }
        moreText = "\(Digits.grouped(more.count)) more"
    }

    private static func words(_ reason: SchemaHistoryEntry.Reason) -> (String, String) {
        switch reason {
        case .edit: ("edited", "Types, fields, indexes or grants were edited")
        case .schemaImport: ("schema file", "A schema file was imported")
        case .deployment: ("deployed", "The development schema was deployed")
        case .reset: ("reset", "The environment was reset to the schema of production")
        case .save: ("saved", "A save added types or fields: just-in-time schema")
        case .data: ("import", "Records were imported or restored, or demo data was created")
        }
    }
}

extension HistoryView.Line {
    fileprivate init(_ text: String, _ visit: Visit) {
        self.text = text
        let type = text.split(separator: ":", maxSplits: 1).first.flatMap { visit.schema?.types[Name(String($0))] }
        allFields = text.hasSuffix(" more") ? type.map { visit.place.link("type", [("type", $0.name.string)]) } : nil
    }
}
