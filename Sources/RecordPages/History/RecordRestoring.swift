internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// Restores earlier versions of records.
enum RecordRestoring {
    /// Saves the earlier version, provided that the record has not changed since the confirmation page.
    static func restore(_ visit: Visit) async throws -> String {
        let (name, zoneID) = try target(visit)
        let reversion = RecordReversion(
            RecordID(recordName: name, zoneID: zoneID), to: try position(visit), recordChangeTag: visit.fields.text("tag"))
        do {
            _ = try await visit.measure { try await visit.database.revert(reversion) }
        } catch let error as RecordError where error.code == .conflict {
            throw RecordError(
                .conflict, "The record ‘\(name)’ changed after you opened this page. Nothing was restored. Look at its history again")
        }
        return visit.place.inZone(zoneID).link("record", [("name", name.string), Notice.recordRestored.parameter])
    }

    /// - Throws: `RecordError` BAD_REQUEST if the address lacks the record name or the zone.
    static func target(_ visit: Visit) throws -> (Name, ZoneID) {
        guard let name = visit.fields.text("name"), let zoneID = visit.place.zoneID ?? visit.usualZoneID else {
            throw RecordError(.badRequest, "The address needs the record's name and its zone")
        }
        return (Name(name), zoneID)
    }

    /// - Throws: `RecordError` BAD_REQUEST if the address names no change.
    static func position(_ visit: Visit) throws -> Int64 {
        guard let position = visit.fields.text("position").flatMap({ Int64($0) }) else {
            throw RecordError(.badRequest, "The address needs the position of the change to restore")
        }
        return position
    }
}
