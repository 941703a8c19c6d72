package import JSON
internal import RecordStore
package import Records

/// The zones of a database that have records of some names.
package struct ZoneSearch: Sendable {
    /// The maximum number of records to look up in one search: names times zones.
    private static let lookupLimit = 20_000
    private static let zoneLimit = 1000
    /// The maximum number of zones in iCloud, where each zone takes a request.
    private static let connectedZoneLimit = 5

    /// The records of each name, in the order of the zones.
    package let records: [Name: [StoredRecord]]
    /// The number of zones that the search left out.
    package let unsearched: Int

    /// - Parameters:
    ///   - zones: the zones to search, the more important ones first.
    ///   - keys: the fields to read.
    package init(for names: [Name], in zones: [ZoneID], keys: Set<Name> = [], of visit: Visit) async throws {
        let limit = visit.connection == nil ? min(Self.zoneLimit, max(1, Self.lookupLimit / max(1, names.count))) : Self.connectedZoneLimit
        let searched = zones.prefix(limit)
        unsearched = zones.count - searched.count
        let distinct = Set(names)
        let recordIDs = searched.flatMap { zoneID in distinct.map { RecordID(recordName: $0, zoneID: zoneID) } }
        let results = try await visit.measure { try await visit.database.fetch(recordIDs, desiredKeys: keys) }
        records = Dictionary(grouping: results.compactMap { try? $0.get() }, by: \.recordID.recordName)
    }
}
