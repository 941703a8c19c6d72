internal import JSON
public import Records

extension GrantRules {
    /// The records that the query may return: all, or only the caller's own.
    /// - Throws: `RecordError` ACCESS_DENIED if the caller may read none.
    public func reach(of query: Query, _ schema: Schema) throws -> Reach {
        // A missing type is reported by the query itself.
        guard schema.types[query.recordType] != nil else { return .all }
        let reach = try reach(of: .read, in: query.recordType, schema)
        if reach == .none { throw Self.refusal(of: .read) }
        return reach
    }

    /// Restricts a resolved query and its request to what the caller may read. If READ is granted only to `_creator`,
    /// a filter for the caller's own records is added.
    ///
    /// The filter requires no index. If `createdUserRecordName` is QUERYABLE, that index is used; otherwise other
    /// users' records are read and dropped.
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
