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
            let values = row.values(of: "links")
            guard let action = Reference.Action(rawValue: try values("action")) else { throw DamagedRow(in: "links", "has an action that there is not") }
            return Referrer(
                recordName: Name(try values("source") as String), recordType: try catalog.typeName(of: values("type")),
                fieldName: Name(try values("field") as String), action: action)
        }
    }
}
