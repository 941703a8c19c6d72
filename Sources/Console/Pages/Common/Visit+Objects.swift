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

    /// The same visit with the types of Core Data's objects. For a container in iCloud of which none is known, the first page of a feed tells some.
    package func findingEntityTypes() async throws -> Visit {
        guard let connection, entityTypes.isEmpty, place.hasFeed,
            let zoneID = place.zoneID ?? zones.first(where: { MirroredNaming.isZone($0.zoneID) })?.zoneID, !zoneID.isDefault
        else { return self }
        _ = try await measure { try await database.zoneChanges(ZoneChangesRequest(zoneID)) }
        var visit = self
        visit.schema = try connections?.engine(of: connection)?.learnedIndexes.schema
        return visit
    }
}
