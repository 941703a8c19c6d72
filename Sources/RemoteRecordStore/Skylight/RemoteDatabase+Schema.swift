internal import CloudKitClient
internal import RecordStore
internal import Records

extension RemoteDatabase {
    func schema() async throws -> Schema {
        try await line.get("schema", of: .skylight).schema()
    }

    func edit(_ edits: [SchemaEdit], because reason: SchemaHistoryEntry.Reason, waitingForIndexes: Bool) async throws
        -> Schema
    {
        let answer = try await line.post("schema/edit", of: .skylight, .saves) { writer in
            writer.name("edits")
            writer.array { writer in
                for edit in edits { writer.value(edit) }
            }
            writer.member("reason", reason.rawValue)
            writer.member("wait", false)
        }
        if waitingForIndexes { try await waitForIndexes(of: edits, after: answer) }
        return try answer.schema()
    }

    func indexBuilds() async throws -> [IndexBuildProgress] {
        try await line.get("schema/builds", of: .skylight).builds()
    }

    func deploy(_ development: Schema, waitingForIndexes: Bool) async throws -> Schema {
        let answer = try await line.post("schema/deploy", of: .skylight, .saves) { writer in
            writer.name("schema")
            writer.value(development)
            writer.member("wait", false)
        }
        if waitingForIndexes {
            try await waitForIndexes(of: development.sortedTypes.map { .addType($0) }, after: answer)
        }
        return try answer.schema()
    }

    func reset(to production: Schema) async throws -> Schema {
        let answer = try await line.post("schema/reset", of: .skylight, .saves) { writer in
            writer.name("schema")
            writer.value(production)
            writer.member("confirm", address.container.description)
        }
        return try answer.schema()
    }

    func schemaHistory(before: Int64?, limit: Int) async throws -> [SchemaHistoryEntry] {
        var entries: [SchemaHistoryEntry] = []
        var next = before
        // The server returns the history in pages.
        while entries.count < limit {
            let answer = try await line.post("schema/history", of: .skylight, .reads) { writer in
                if let next { writer.member("before", next) }
                writer.member("resultsLimit", Int64(limit - entries.count))
            }
            entries += try answer.array("entries").map { try $0.historyEntry() }
            guard answer.has("before") else { break }
            next = try answer.integer("before")
        }
        return entries
    }

    // MARK: Waiting

    /// Polls until the indexes that the edits add are built. No single request waits for them, because a build may
    /// exceed the time limit of requests.
    private func waitForIndexes(of edits: [SchemaEdit], after answer: Answer) async throws {
        var builds = try answer.builds()
        var pause = Duration.milliseconds(20)
        while builds.contains(where: { build in edits.contains { $0.awaits(build) } }) {
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(500))
            do {
                builds = try await indexBuilds()
            } catch let error as RecordError {
                throw RecordError(
                    error.code,
                    "The schema was changed, and its indexes are being built, but the progress is unknown: \(error.reason)",
                    retryAfter: error.retryAfter)
            }
        }
    }
}

extension SchemaEdit {
    /// True if the edit adds an index that this job is building.
    fileprivate func awaits(_ build: IndexBuildProgress) -> Bool {
        switch (self, build.subject) {
        case (.setIndexes(let indexes, let key, let recordType), .field(let built, let parts)),
            (.addIndexes(let indexes, let key, let recordType), .field(let built, let parts)):
            recordType == build.recordType && key == built && !indexes.isDisjoint(with: parts)
        case (.addType(let type), .field(let built, let parts)):
            type.name == build.recordType && !(type.definition(of: built)?.indexes ?? []).isDisjoint(with: parts)
        case (.addType(let type), .composite(let built)):
            type.name == build.recordType && type.compositeIndexes.contains(built)
        case (.addCompositeIndex(let index, let recordType), .composite(let built)):
            recordType == build.recordType && index == built
        default: false
        }
    }
}

extension RemoteDatabase {
    func usage(of recordType: Name) async throws -> TypeUsage {
        try await line.post("schema/usage", of: .skylight, .reads) { $0.member("recordType", recordType) }.usage()
    }

    func valueCounts(of fields: Set<Name>, in recordType: Name) async throws -> ValueCounts {
        let answer = try await line.post("schema/counts", of: .skylight, .reads) { writer in
            writer.member("recordType", recordType)
            writer.name("fields")
            writer.array { writer in
                for field in fields.sorted() { writer.value(field) }
            }
        }
        return ValueCounts(
            records: Int(try answer.integer("records")),
            values: try answer.object("values").integers().mapValues { Int($0) })
    }

    func explain(_ request: QueryRequest) async throws -> QueryExplanation {
        try await line.post("records/explain", of: .skylight, .reads) { try $0.members(of: request) }.queryExplanation()
    }

    func queryStatistics() async throws -> QueryStatistics {
        try await line.get("query/statistics", of: .skylight).queryStatistics()
    }
}

// MARK: - Answers

// Decoding of schemas and their usage (docs/services.md).

extension Answer {
    func schema() throws -> Schema {
        guard let types = value("types"), let roles = value("roles") else { throw unexpected("a schema") }
        return try Schema(["types": types, "roles": roles])
    }

    func builds() throws -> [IndexBuildProgress] {
        try array("builds").map { try $0.build() }
    }

    private func build() throws -> IndexBuildProgress {
        guard let work = IndexBuildProgress.Work(rawValue: try string("work")) else {
            throw unexpected("work on an index that is known")
        }
        let subject: IndexBuildProgress.Subject =
            has("compositeIndex")
            ? .composite(try object("compositeIndex").compositeIndex()) : .field(try fieldKey(), try indexes())
        return IndexBuildProgress(
            work, of: subject, in: try name("recordType"), done: Int(try integer("done")),
            total: Int(try integer("total")))
    }

    func fieldKey() throws -> FieldKey { FieldKey(schemaName: try name("field")) }

    func indexes() throws -> Indexes { try Indexes(names: try strings("indexes").map { Name($0) }) }

    func compositeIndex() throws -> CompositeIndex {
        CompositeIndex(filter: FieldKey(schemaName: try name("filter")), sort: FieldKey(schemaName: try name("sort")))
    }

    func historyEntry() throws -> SchemaHistoryEntry {
        guard let reason = SchemaHistoryEntry.Reason(rawValue: try string("reason")) else {
            throw unexpected("a reason that is known")
        }
        return SchemaHistoryEntry(
            number: try integer("number"), timestamp: try timestamp("timestamp"),
            userRecordName: try name("userRecordName"), reason: reason, changes: try strings("changes"))
    }

    func usage() throws -> TypeUsage {
        let composites =
            has("compositeIndexes")
            ? try array("compositeIndexes").map { (try $0.compositeIndex(), Int(try $0.integer("bytes"))) } : []
        return TypeUsage(
            recordType: try name("recordType"), records: Int(try integer("records")),
            fields: try array("fields").map { try $0.fieldUsage() },
            compositeBytes: Dictionary(composites, uniquingKeysWith: { first, _ in first }))
    }

    private func fieldUsage() throws -> TypeUsage.FieldUsage {
        let largest = try optionalObject("largestRecord").map {
            RecordID(recordName: try $0.name("recordName"), zoneID: try $0.zoneID())
        }
        return TypeUsage.FieldUsage(
            key: try fieldKey(), records: Int(try integer("records")),
            distinctValues: Int(try integer("distinctValues")),
            isCutOff: has("orMore"), largestBytes: Int(try integer("largestBytes")), largestRecord: largest,
            entryBytes: Int(try integer("entryBytes")),
            tokenBytes: Int(try integer("tokenBytes")))
    }
}
