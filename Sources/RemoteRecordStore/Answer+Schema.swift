internal import JSON
internal import RecordStore
internal import Records

// Decoding of schemas and their usage (docs/services.md).

extension Answer {
    func schema() throws -> Schema {
        guard let types = try value("types"), let roles = try value("roles") else { throw unexpected("a schema") }
        return try Schema(["types": types, "roles": roles])
    }

    func builds() throws -> [IndexBuildProgress] {
        try array("builds").map { try $0.build() }
    }

    private func build() throws -> IndexBuildProgress {
        guard let work = IndexBuildProgress.Work(rawValue: try string("work")) else { throw unexpected("work on an index that is known") }
        let subject: IndexBuildProgress.Subject =
            has("compositeIndex") ? .composite(try object("compositeIndex").compositeIndex()) : .field(try fieldKey(), try indexes())
        return IndexBuildProgress(
            work, of: subject, in: try name("recordType"), done: Int(try integer("done")), total: Int(try integer("total")))
    }

    func fieldKey() throws -> FieldKey { FieldKey(schemaName: try name("field")) }

    func indexes() throws -> Indexes { try Indexes(names: try strings("indexes").map { Name($0) }) }

    func compositeIndex() throws -> CompositeIndex {
        CompositeIndex(filter: FieldKey(schemaName: try name("filter")), sort: FieldKey(schemaName: try name("sort")))
    }

    func historyEntry() throws -> SchemaHistoryEntry {
        guard let reason = SchemaHistoryEntry.Reason(rawValue: try string("reason")) else { throw unexpected("a reason that is known") }
        return SchemaHistoryEntry(
            number: try integer("number"), timestamp: try timestamp("timestamp"),
            userRecordName: try name("userRecordName"), reason: reason, changes: try strings("changes"))
    }

    func usage() throws -> TypeUsage {
        let composites = has("compositeIndexes") ? try array("compositeIndexes").map { (try $0.compositeIndex(), Int(try $0.integer("bytes"))) } : []
        return TypeUsage(
            recordType: try name("recordType"), records: Int(try integer("records")), fields: try array("fields").map { try $0.fieldUsage() },
            compositeBytes: Dictionary(composites, uniquingKeysWith: { first, _ in first }))
    }

    private func fieldUsage() throws -> TypeUsage.FieldUsage {
        let largest = try optionalObject("largestRecord").map { RecordID(recordName: try $0.name("recordName"), zoneID: try $0.zoneID()) }
        return TypeUsage.FieldUsage(
            key: try fieldKey(), records: Int(try integer("records")), distinctValues: Int(try integer("distinctValues")),
            isCutOff: has("orMore"), largestBytes: Int(try integer("largestBytes")), largestRecord: largest, entryBytes: Int(try integer("entryBytes")),
            tokenBytes: Int(try integer("tokenBytes")))
    }
}
