internal import Console
internal import HTTPServing
internal import Hummingbird
internal import JSON
internal import RecordStore
internal import Records

/// Fetched records as a file. Missing records are included, with the error.
struct FetchResults {
    let visit: Visit
    let format: ResultFormat
    let origin: String

    /// The records that the request names, one name per line in `names`, in one zone or in all.
    /// - Throws: `RecordError` BAD_REQUEST if there are none, or more than a request may fetch.
    func response() async throws -> Response {
        let asked = FetchedNames(visit)
        if asked.names.isEmpty { throw RecordError(.badRequest, "Enter record names in 'names', one per line") }
        return try await response(try await asked.recordIDs(visit).recordIDs, keys: visit.fields["return"] == "system" ? [] : nil)
    }

    /// - Parameter keys: the fields to return; `nil` for all.
    /// - Throws: `RecordError` TRY_AGAIN_LATER when there is no room for them.
    func response(_ recordIDs: [RecordID], keys: Set<Name>?) async throws -> Response {
        try await RequestMemory.makeAnswer { try await file(recordIDs, keys: keys) }
    }

    private func file(_ recordIDs: [RecordID], keys: Set<Name>?) async throws -> Response {
        let results = try await visit.database.fetch(recordIDs, desiredKeys: keys, bytesLimit: FetchView.bytesLimit)
        let records = results.compactMap { try? $0.get() }
        try RequestMemory.prepareAnswer(with: records)
        let address = try await visit.addresses(in: records, origin: origin)
        let items = zip(recordIDs, results).map { RecordFileWriter.Item($0.recordName, $1) }
        let writer = RecordFileWriter(format: format, columns: try columns(of: records, missing: records.count < results.count))
        let text = try writer.head() + writer.rows(items, isFirst: true, address: address) + writer.end()
        let types = Set(records.map(\.recordType))
        return .file(text, format: format, name: types.count == 1 ? types.first?.string ?? "records" : "records")
    }

    /// One column for each field in use.
    private func columns(of records: [StoredRecord], missing: Bool) throws -> RecordFileWriter.Columns {
        guard format == .csv else { return RecordFileWriter.Columns(fields: []) }
        var names: Set<Name> = []
        for record in records { names.formUnion(try record.fields.decoded().map(\.name)) }
        var columns = RecordFileWriter.Columns(fields: names.sorted())
        columns.showsTypes = true
        columns.showsZones = Set(records.map(\.recordID.zoneID)).count > 1
        columns.showsOwners = columns.showsZones && visit.place.address.scope == .shared
        columns.showsErrors = missing
        return columns
    }
}
