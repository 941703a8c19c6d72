package import Console
internal import RecordStore
internal import Records

/// The page History: the schema changes with their authors and times.
package enum HistoryView {
    /// The number of entries per page.
    private static let limit = 50
    /// The number of initially visible lines of an entry.
    private static let lineLimit = 8

    package static func load(_ visit: Visit) async throws -> ComponentPage {
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
        let earlier = found.count > limit ? entries.last : nil
        return ComponentPage(
            .history,
            PageHead(
                Tab.history.title,
                ["Every change of the \(visit.place.address.environment.rawValue) schema, latest first."]),
            [
                Table(
                    "Changes of the schema",
                    ["when", "by", "origin", .column("changes", "wide")], entries.map { row($0, visit) },
                    nothing: EmptyState(before == nil ? "No changes yet" : "No earlier changes"))
            ],
            foot: PageFooter(
                count: Digits.count(entries.count, "change"),
                previous: before == nil ? nil : Frame.Link(text: "« Latest", href: visit.place.link("history")),
                next: earlier.map {
                    Frame.Link(
                        text: "Earlier ›", href: visit.place.link("history", [("before", String($0.number))]))
                }))
    }

    private static func row(_ entry: SchemaHistoryEntry, _ visit: Visit) -> Table.Row {
        let (reason, explanation) = words(entry.reason)
        let limit = entry.changes.count <= lineLimit + 1 ? entry.changes.count : lineLimit
        let lines = entry.changes.map { line($0, visit) }
        let more = Array(lines.dropFirst(limit))
        let first = Inline.part(Listing(Array(lines.prefix(limit)), style: "changelines"))
        return Table.Row([
            .time(entry.timestamp), Inline(visit.people.name(of: entry.userRecordName)),
            .badge(reason, "", hint: explanation),
            more.isEmpty
                ? first
                : first
                    + .part(
                        Fold(
                            "\(Digits.grouped(more.count)) more", isOpen: false, [Listing(more, style: "changelines")])),
        ])
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

    /// A change. If it does not name all fields, the page of the type does, unless there is no such type any more.
    private static func line(_ text: String, _ visit: Visit) -> Inline {
        let type = text.split(separator: ":", maxSplits: 1).first.flatMap { visit.schema?.types[Name(String($0))] }
        guard let type, text.hasSuffix(" more") else { return Inline(text) }
        return "\(text) \(.link("All fields", visit.place.link("type", [("type", type.name.string)])))"
    }
}
