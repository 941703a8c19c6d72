internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The references to a record: a line for each type and field, then the records by type.
struct ReferrerPanel: ViewModel {
    /// The maximum number of references.
    static let limit = 100
    /// The number of initially visible names per type.
    private static let shown = 12

    struct Way: ViewModel {
        let type: String
        let field: String
        let action: String
        /// The effect on the reference when the record is deleted.
        let consequence: String
        let count: String
        /// A query for all of them; `nil` if no index allows it.
        let query: String?
        let queryName: String
    }

    struct Group: ViewModel {
        let type: String
        let rows: [RecordLink]
        let rest: [RecordLink]
        let restTitle: String
    }

    let title: String
    let ways: [Way]
    let groups: [Group]

    /// The references to a record, of which there may be one more than the panel lists.
    /// - Returns: `nil` if the engine can't tell.
    static func referrers(to record: StoredRecord, _ visit: Visit) async throws -> [Referrer]? {
        guard visit.database.can(.traceReferences) else { return nil }
        return try await visit.measure { try await visit.database.referrers(to: record.recordID, limit: limit + 1) }
    }

    init(_ found: [Referrer], to recordID: RecordID, _ titles: ReferencedTitles, _ visit: Visit) {
        let referrers = found.prefix(Self.limit)
        let hasMore = found.count > referrers.count
        ways = Self.grouped(referrers) { Kind(type: $0.recordType, field: $0.fieldName, action: $0.action) }.map { kind, members in
            Way(kind, count: Digits.grouped(members.count) + (hasMore ? "+" : ""), target: recordID.recordName, visit)
        }
        groups = Self.grouped(referrers, by: \.recordType).map { type, members in
            // A record with two references counts once.
            let links = Self.grouped(members[...], by: \.recordName).map { name, _ in
                RecordLink(
                    href: visit.place.link(toRecord: name, in: recordID.zoneID), recordName: name.string,
                    title: titles[RecordID(recordName: name, zoneID: recordID.zoneID)])
            }
            let shown = links.count > Self.shown + 1 ? Self.shown : links.count
            return Group(type: type.string, rows: Array(links.prefix(shown)), rest: Array(links.dropFirst(shown)), restTitle: "\(links.count - shown) more")
        }
        let count = groups.reduce(0) { $0 + $1.rows.count + $1.rest.count }
        // The limit counts references, not records: the next reference may be another field of a listed record.
        title = count == 0 ? "No record refers to this one" : "Referred to by \(Digits.count(count, "record"))\(hasMore ? " or more" : "")"
    }

    fileprivate struct Kind: Hashable {
        let type: Name
        let field: Name
        let action: Reference.Action
    }

    /// Groups elements in the order of first occurrence.
    private static func grouped<Key: Hashable>(_ referrers: ArraySlice<Referrer>, by key: (Referrer) -> Key) -> [(Key, [Referrer])] {
        var order: [Key] = []
        var groups: [Key: [Referrer]] = [:]
        for referrer in referrers {
            let key = key(referrer)
            if groups[key] == nil { order.append(key) }
            groups[key, default: []].append(referrer)
        }
        return order.compactMap { key in groups[key].map { (key, $0) } }
    }
}

extension ReferrerPanel.Way {
    fileprivate init(_ kind: ReferrerPanel.Kind, count: String, target: Name, _ visit: Visit) {
        type = kind.type.string
        field = kind.field == SystemField.parent.schemaName ? "parent" : kind.field.string
        action = kind.action.rawValue
        consequence =
            switch kind.action {
            case .none: "stays; its reference is left without a target"
            case .deleteSelf: "is deleted with it"
            case .validate: "blocks the deletion"
            }
        self.count = count
        query = Self.link(kind, target: target, visit)
        queryName = "Query \(type) by \(field)"
    }

    private static func link(_ kind: ReferrerPanel.Kind, target: Name, _ visit: Visit) -> String? {
        guard let field = visit.schema?.types[kind.type]?.queryField(named: kind.field) else { return nil }
        let comparator: Comparator = field.definition.type.isList ? .listContains : .equals
        guard field.allows(comparator) else { return nil }
        let parameters = [("type", kind.type.string), ("filter1", field.name.string), ("is1", comparator.rawValue), ("value1", target.string)]
        return visit.place.link("query", parameters.map { (name: $0.0, value: $0.1) })
    }
}
