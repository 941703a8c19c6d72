internal import JSON
public import Records

extension GrantRules {
    /// Which records of its type a query may answer with: all, or the caller's own.
    /// - Throws: `RecordError` ACCESS_DENIED when the caller may read none.
    public func reach(of query: Query, _ schema: Schema) throws -> Reach {
        // That there is no such type is for the query itself to say.
        guard schema.types[query.recordType] != nil else { return .all }
        let reach = try reach(of: .read, in: query.recordType, schema)
        if reach == .none { throw Self.refusal(of: .read) }
        return reach
    }

    /// A query that was checked, and the request that it came with, as the caller may have them answered: where READ is granted to
    /// `_creator` alone, with one more filter for the caller's own records.
    ///
    /// That filter asks for no index. Where `createdUserRecordName` is QUERYABLE its index serves it; else the records of others are read
    /// and dropped, as with any filter that finds too much.
    public func narrowed(
        _ query: ResolvedQuery, _ request: QueryRequest, to reach: Reach, _ schema: Schema
    ) -> (query: ResolvedQuery, request: QueryRequest) {
        guard reach == .own else { return (query, request) }
        let creator = FieldValue.reference(Reference(recordName: creatorName))
        let alias = SystemField.createdBy.alias
        let isTaken = schema.types[query.recordType]?.fields[alias] != nil
        var request = request
        request.query.filters.append(Query.Filter(isTaken ? SystemField.createdBy.schemaName : alias, .equals, FieldInput(creator)))
        return (query.adding(ResolvedQuery.Filter(key: .system(.createdBy), comparator: .equals, operand: .value(creator))), request)
    }
}
