internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

extension SQLiteDatabase {
    func query(_ request: QueryRequest) async throws -> QueryPage {
        try await store.readAtLength(for: .query) { [view, store] db, catalog in
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
            var (page, plans) = try prepared.page(catalog, db)
            let composite = plans.lazy.compactMap { if case .composite(let used, _, _) = $0.way { used.index } else { nil } }.last
            // Further pages belong to the same query and are not counted again.
            if request.continuationMarker == nil { store.queries.note(asked, in: prepared.type, servedBy: composite, at: Timestamp.now()) }
            page.plan = QueryWeighing(query: request.query, resolved: query, type: prepared.type, catalog: catalog, plans: plans)
                .plan(hasMore: page.continuationMarker != nil)
            return page
        }
    }
}
