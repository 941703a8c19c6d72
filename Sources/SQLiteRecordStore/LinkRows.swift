internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

/// Reads `links`.
enum LinkRows {
    /// The references to a name, by the name of the record that refers.
    /// - Parameters:
    ///   - condition: SQL that narrows the links further.
    ///   - limit: negative for no limit.
    static func referrers(
        to name: Name, in zone: Int64, where condition: String = "", limit: Int, _ db: Database, _ catalog: SchemaCatalog
    ) throws -> [Referrer] {
        try Row.fetchAll(
            db,
            cachedSQL: """
                SELECT l.source, l.field, l.action, r.type FROM links l JOIN records r ON r.zone = l.zone AND r.name = l.source
                WHERE l.zone = ? AND l.target = ? \(condition) ORDER BY l.source, l.field, l.action LIMIT ?
                """, [zone, name.string, limit]
        ).map { row in
            Referrer(
                recordName: Name(row["source"] as String), recordType: catalog.typeNames[row["type"]] ?? "", fieldName: Name(row["field"] as String),
                action: Reference.Action(rawValue: row["action"]) ?? .none)
        }
    }
}
