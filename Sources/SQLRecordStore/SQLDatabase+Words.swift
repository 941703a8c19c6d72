internal import JSON
internal import RecordStore
internal import Records

extension SQLDatabase {
    /// Words of the texts that a request saves, and of the current texts of the records it names.
    ///
    /// They are only a cache. Texts saved in the meantime are tokenized in the transaction.
    /// - Parameter texts: the texts to be saved.
    func preparedWords(for request: ModifyRequest, _ texts: [String]) async throws -> PreparedWords {
        try await PreparedWords.of { texts + (try await presentTexts(of: request)) }
    }

    /// Bytes of present texts after which no more are read. The writer cuts the others.
    private static let textsInMemory = 16 << 20

    private func presentTexts(of request: ModifyRequest) async throws -> [String] {
        try await store.readAtLength(for: .query) { [view] db, catalog in
            var lookups: [ZoneID: Result<NameLookup?, RecordError>] = [:]
            var bytes = 0
            return try request.operations.flatMap { operation -> [String] in
                guard operation.kind != .create, let name = operation.recordName, bytes < Self.textsInMemory else { return [] }
                let zoneID = operation.zoneID ?? request.zoneID
                let lookup = try lookups[zoneID] ?? Self.lookup(in: zoneID, view, db, catalog)
                lookups[zoneID] = lookup
                // A missing zone is reported when the request is applied.
                guard case .success(let names?) = lookup else { return [] }
                return try names.row(named: name) { row in
                    if row.isDeleted { return nil }
                    let fields = (catalog.indexedFields[try row.recordType] ?? []).filter { $0.indexes.contains(.searchable) }
                    let keys = Set(fields.compactMap { field -> Name? in if case .custom(let name) = field.key { name } else { nil } })
                    return try row.record().fields.values(of: keys).values.compactMap { value -> String? in
                        guard case .string(let text) = value else { return nil }
                        bytes += text.utf8.count
                        return text
                    }
                } ?? []
            }
        }
    }
}
