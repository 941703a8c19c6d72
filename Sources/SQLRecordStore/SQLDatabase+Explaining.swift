internal import JSON
internal import RecordStore
internal import Records

extension SQLDatabase {
    func explain(_ request: QueryRequest) async throws -> QueryExplanation {
        try await store.readAtLength(for: .query) { [view, store] db, catalog in
            let grants = view.grants(db, catalog)
            let reach = try grants.reach(of: request.query, catalog.schema)
            let problems = IndexRules.problems(of: request.query, in: catalog.schema, building: try store.indexBuilds(catalog, db))
            if !problems.isEmpty { return QueryExplanation(of: request.query, in: catalog.schema, problems: problems) }
            let (query, request) = grants.narrowed(try ResolvedQuery(request.query, in: catalog.schema), request, to: reach, catalog.schema)
            let prepared = try PreparedQuery(query, request, view, catalog, db)
            let clock = ContinuousClock()
            let begin = clock.now
            // Run once to measure the time, and again with the recorder, which is slower.
            _ = try prepared.page(catalog, db)
            let duration = clock.now - begin
            let recorder = QueryRecorder()
            let (page, plans) = try recorder.watch(db) { try prepared.page(catalog, db, recorder: recorder) }
            let hasMore = page.continuationMarker != nil
            let weighing = QueryWeighing(query: request.query, resolved: query, type: prepared.type, catalog: catalog, plans: plans)
            var explanation = QueryExplanation(
                candidates: weighing.candidates, summary: weighing.summary(hasMore: hasMore).text(entriesCounted: recorder.entriesCounted),
                entriesRead: recorder.entriesRead, recordsRead: recorder.recordsRead, recordsReturned: page.records.count, hasMore: hasMore,
                milliseconds: duration / .milliseconds(1), statements: try recorder.explained(db))
            explanation.advice = weighing.advice(for: explanation)
            return explanation
        }
    }

    func queryStatistics() async throws -> QueryStatistics {
        try await store.read { store.queries.statistics(in: $1.schema, building: try store.indexBuilds($1, $0)) }
    }
}
