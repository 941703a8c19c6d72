internal import RecordStore
internal import Records

extension InMemoryDatabase {
    func explain(_ request: QueryRequest) async throws -> QueryExplanation {
        try store.read { state in
            let grants = grants(in: state)
            let coverage = try grants.coverage(of: request.query, state.schema)
            let problems = IndexRules.problems(of: request.query, in: state.schema)
            if !problems.isEmpty { return QueryExplanation(of: request.query, in: state.schema, problems: problems) }
            let (query, request) = grants.narrowed(
                try ResolvedQuery(request.query, in: state.schema), request, to: coverage, state.schema)
            guard let type = state.schema.types[query.recordType] else { throw RecordError.recordNotFound }
            let clock = ContinuousClock()
            let begin = clock.now
            let (page, recordsRead) = try self.page(request, of: query, in: state)
            let candidates = IndexCandidate.all(for: request.query, in: type, problems: [])
            return QueryExplanation(
                candidates: candidates.map {
                    $0.explained(in: request.query, .passedOver, because: "The in-memory engine has no indexes")
                },
                summary: Self.summary(recordsRead),
                recordsRead: recordsRead, recordsReturned: page.records.count, hasMore: page.continuationMarker != nil,
                milliseconds: (clock.now - begin) / .milliseconds(1))
        }
    }

    func queryStatistics() async throws -> QueryStatistics {
        try store.read { store.queries.statistics(in: $0.schema) }
    }

    func usage(of recordType: Name) async throws -> TypeUsage {
        try store.read { state in
            guard let type = state.schema.types[recordType] else { throw QueryProblem.unknownType(recordType).error }
            var meter = UsageMeter(of: type)
            for zone in state.zones.values.filter({ $0.end == nil && $0.base == nil }).sorted(by: {
                $0.number < $1.number
            }) {
                let records = zone.rows.values.filter { !$0.isDeleted && $0.record.recordType == recordType }.map(
                    \.record)
                for record in records.sorted(by: { $0.recordID.recordName < $1.recordID.recordName }) {
                    try meter.add(record)
                }
            }
            return meter.usage
        }
    }

    func valueCounts(of fields: Set<Name>, in recordType: Name) async throws -> ValueCounts {
        try store.read { state in
            guard state.schema.types[recordType] != nil else { throw QueryProblem.unknownType(recordType).error }
            var counts = ValueCounts(records: 0, values: Dictionary(uniqueKeysWithValues: fields.map { ($0, 0) }))
            for zone in state.zones.values where zone.end == nil && zone.base == nil {
                for row in zone.rows.values where !row.isDeleted && row.record.recordType == recordType {
                    try counts.add(row.record.fields)
                }
            }
            return counts
        }
    }
}
