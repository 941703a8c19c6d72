internal import CloudKitClient
internal import RecordStore
internal import Records

extension RemoteDatabase {
    private typealias Services = DatabaseServices

    func schema() async throws -> Schema { try await line.ask(Services.schema) }

    func edit(_ edits: [SchemaEdit], because reason: SchemaHistoryEntry.Reason, waitingForIndexes: Bool) async throws
        -> Schema
    {
        let (schema, builds) = try await line.ask(Services.editSchema, (edits, reason, false))
        if waitingForIndexes { try await waitForIndexes(of: edits, after: builds) }
        return schema
    }

    func indexBuilds() async throws -> [IndexBuildProgress] { try await line.ask(Services.indexBuilds) }

    func deploy(_ development: Schema, waitingForIndexes: Bool) async throws -> Schema {
        let answer = try await line.post("schema/deploy", of: .skylight, .saves) { writer in
            development.write(as: "schema", into: &writer)
            writer.member("wait", false)
        }
        if waitingForIndexes {
            try await waitForIndexes(
                of: development.sortedTypes.map { .addType($0) },
                after: answer.read { try .member("builds", of: $0) })
        }
        return try answer.read(Schema.form.read)
    }

    func reset(to production: Schema) async throws -> Schema {
        let answer = try await line.post("schema/reset", of: .skylight, .saves) { writer in
            production.write(as: "schema", into: &writer)
            writer.member("confirm", address.container.description)
        }
        return try answer.read(Schema.form.read)
    }

    func schemaHistory(before: Int64?, limit: Int) async throws -> [SchemaHistoryEntry] {
        var entries: [SchemaHistoryEntry] = []
        var next = before
        // The server returns the history in pages.
        while entries.count < limit {
            let (page, before) = try await line.ask(Services.schemaHistory, (next, limit - entries.count))
            entries += page
            guard let before else { break }
            next = before
        }
        return entries
    }

    // MARK: Waiting

    /// Polls until the indexes that the edits add are built. No single request waits for them, because a build may
    /// exceed the time limit of requests.
    private func waitForIndexes(of edits: [SchemaEdit], after begun: [IndexBuildProgress]) async throws {
        var builds = begun
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
    func usage(of recordType: Name) async throws -> TypeUsage { try await line.ask(Services.usage, recordType) }

    func valueCounts(of fields: Set<Name>, in recordType: Name) async throws -> ValueCounts {
        try await line.ask(Services.valueCounts, (recordType, fields.sorted()))
    }

    func explain(_ request: QueryRequest) async throws -> QueryExplanation {
        try await line.post("records/explain", of: .skylight, .reads) { try $0.members(of: request) }
            .read(QueryExplanation.form.read)
    }

    func queryStatistics() async throws -> QueryStatistics { try await line.ask(Services.queryStatistics) }
}
