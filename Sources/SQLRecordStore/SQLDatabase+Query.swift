internal import JSON
internal import RecordStore
internal import Records

extension SQLDatabase {
    func query(_ request: QueryRequest) async throws -> QueryPage {
        // Words are compared by cutting whole texts, which takes long for few records.
        let hasWords = request.query.filters.contains { $0.comparator.requiredIndexes == .searchable }
        if !hasWords {
            do {
                return try await store.read { db, catalog in try ReadBudget.limiting(db) { try page(request, within: $0, db, catalog) } }
            } catch is ReadBudget.Exceeded {}
        }
        return try await store.readAtLength(for: .query) { db, catalog in try page(request, within: nil, db, catalog) }
    }

    private func page(_ request: QueryRequest, within budget: ReadBudget?, _ db: SQLConnection, _ catalog: SchemaCatalog) throws -> QueryPage {
        let view = view
        let grants = view.grants(db, catalog)
        let reach = try grants.reach(of: request.query, catalog.schema)
        let builds = try store.indexBuilds(catalog, db)
        let asked: ResolvedQuery
        do {
            asked = try ResolvedQuery(request.query, in: catalog.schema, building: builds)
        } catch {
            let problems = IndexRules.problems(of: request.query, in: catalog.schema, building: builds)
            store.queries.refuse(request.query, because: problems, of: view.caller.userRecordName, at: Timestamp.now())
            throw error
        }
        let (query, request) = grants.narrowed(asked, request, to: reach, catalog.schema)
        let prepared = try PreparedQuery(query, request, view, catalog, db)
        var (page, plans) = try prepared.page(catalog, db, within: budget)
        let composite = plans.lazy.compactMap { if case .composite(let used, _, _) = $0.way { used.index } else { nil } }.last
        // Further pages belong to the same query and are not counted again.
        if request.continuationMarker == nil { store.queries.note(asked, in: prepared.type, servedBy: composite, at: Timestamp.now()) }
        page.plan = QueryWeighing(query: request.query, resolved: query, type: prepared.type, catalog: catalog, plans: plans)
            .plan(hasMore: page.continuationMarker != nil)
        return page
    }
}
