internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The types and fields that a deployment makes permanent, with the time and the cause of each in development. A misspelt one shows itself here.
struct PermanentAdditions: ViewModel {
    struct Addition: ViewModel {
        /// `Message`, or `Message.sentAt`.
        let name: String
        /// `type with 2 fields`, or `STRING`.
        let form: String
        /// `created by a request 6 minutes ago`; `nil` if the history does not tell.
        let origin: String?
    }

    /// `1 record type and 2 fields`
    let count: String
    let becomes: String
    /// The newest first, because a mistake is rarely old.
    let additions: [Addition]
    /// `nil` if all are shown.
    let more: String?

    /// The maximum number of additions that are named beside the button.
    private static let limit = 8
    /// The number of schema changes that are searched for the causes.
    private static let searched = 200

    /// - Returns: `nil` if the deployment adds neither types nor fields.
    init?(_ difference: SchemaDifference, _ visit: Visit) async throws {
        let added = difference.changes.filter(\.isAddition)
        guard !added.isEmpty else { return nil }
        let development = try await visit.database(in: .development)
        let history = try await visit.measure { try await development.schemaHistory(before: nil, limit: Self.searched) }
        let now = Timestamp.now()
        let dated = added.map { change in (change: change, entry: history.first { $0.added(change) }) }
            .sorted { ($0.entry?.number ?? .min) > ($1.entry?.number ?? .min) }
        additions = dated.prefix(Self.limit).map { Addition($0.change, $0.entry, at: now) }
        more = added.count > Self.limit ? "and \(Digits.grouped(added.count - Self.limit)) more, in the list below" : nil
        let types = added.count { $0.field == nil }
        let counts = [(types, "record type"), (added.count - types, "field")].filter { $0.0 > 0 }
        count = counts.map { Digits.count($0.0, $0.1) }.joined(separator: " and ")
        becomes = added.count == 1 ? "becomes" : "become"
    }
}

extension PermanentAdditions.Addition {
    fileprivate init(_ change: SchemaDifference.Change, _ entry: SchemaHistoryEntry?, at now: Timestamp) {
        let type = change.recordType?.string ?? ""
        name = change.field.map { "\(type).\($0.schemaName)" } ?? type
        switch change {
        case .addType(let type): form = type.fields.isEmpty ? "type without fields" : "type with \(Digits.count(type.fields.count, "field"))"
        case .addField(_, let definition, _): form = definition.type.schemaName
        default: form = ""
        }
        origin = entry.map { "\($0.reason.creation) \($0.timestamp.agoText(at: now))" }
    }
}

extension SchemaDifference.Change {
    /// True for a new type or field.
    fileprivate var isAddition: Bool {
        switch self {
        case .addType, .addField: true
        default: false
        }
    }
}

extension SchemaHistoryEntry {
    /// True if the entry added the type or field, perhaps with other indexes or fewer fields.
    fileprivate func added(_ change: SchemaDifference.Change) -> Bool {
        guard let type = change.recordType else { return false }
        let whole = "\(type): type added"
        guard let field = change.field?.schemaName else { return changes.contains { $0.hasPrefix(whole) } }
        return changes.contains { line in
            // A type is created together with its first fields.
            line.hasPrefix("\(type): field '\(field)' ") && line.hasSuffix(" added") || line.hasPrefix(whole) && line.contains("'\(field)' ")
        }
    }
}

extension SchemaHistoryEntry.Reason {
    /// The way in which an entry created types and fields.
    fileprivate var creation: String {
        switch self {
        case .edit: "created in the schema"
        case .schemaImport: "created by a schema file"
        case .deployment: "created by a deployment"
        case .reset: "created by a reset"
        case .save: "created by a request"
        case .data: "created by an import"
        }
    }
}
