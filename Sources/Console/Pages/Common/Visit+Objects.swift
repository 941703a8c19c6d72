internal import CloudKitRecordStore
internal import RecordStore
package import Records

extension Visit {
    /// The types of Core Data's objects, by name.
    package var entityTypes: [RecordType] { types.filter { MirroredNaming.isEntityType($0.name) } }

    /// True if the container has objects of Core Data, as far as is known.
    package var hasObjects: Bool {
        schema?.types.keys.contains { MirroredNaming.isEntityType($0) } ?? false || zones.contains { MirroredNaming.isZone($0.zoneID) }
    }

    /// The number of pages of a feed to read.
    private static let pageLimit = 3

    /// The same visit with the types of Core Data's objects. For a container in iCloud of which none is known, the first pages of a feed tell some.
    package func findingEntityTypes() async throws -> Visit {
        guard let connection, entityTypes.isEmpty, place.hasFeed,
            let zoneID = place.zoneID ?? zones.first(where: { MirroredNaming.isZone($0.zoneID) })?.zoneID, !zoneID.isDefault
        else { return self }
        var request = ZoneChangesRequest(zoneID)
        for _ in 0..<Self.pageLimit {
            let page = try await measure { [request] in try await database.zoneChanges(request) }
            // The first pages may hold nothing but pairs.
            if !page.moreComing || page.changes.contains(where: { $0.record.map { MirroredNaming.isEntityType($0.recordType) } ?? false }) { break }
            request.since = page.syncToken
        }
        var visit = self
        visit.schema = try connections?.engine(of: connection)?.learnedIndexes.schema
        return visit
    }
}
