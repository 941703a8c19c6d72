internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The actions on a record.
enum RecordActions {
    static func confirmDeletion(_ visit: Visit) async throws -> ConfirmationView {
        let (name, zoneID) = try target(visit)
        let record = try await RecordView.record(name, in: zoneID, visit: visit)
        let named = try visit.titles.words(for: record)
        var lines = ["The \(record.recordType) record \(named) in zone \(visit.zoneName(zoneID)) is deleted for everyone who sees it."]
        if visit.database.can(.traceReferences) {
            let referrers = try await visit.measure { try await visit.database.referrers(to: record.recordID, limit: 1000) }
            let falling = Set(referrers.filter { $0.action == .deleteSelf }.map(\.recordName))
            let children = Set(referrers.filter { $0.fieldName == SystemField.parent.schemaName }.map(\.recordName)).subtracting(falling).count
            let cascading = referrers.count { $0.action == .deleteSelf }
            let blocking = referrers.count { $0.action == .validate }
            if cascading > 0 { lines.append("\(Digits.count(cascading, "record")) with a DELETE_SELF reference to it \(cascading == 1 ? "is" : "are") deleted too.") }
            if blocking > 0 {
                lines.append("\(Digits.count(blocking, "record")) with a VALIDATE reference to it will keep it from being deleted.")
            }
            if children > 0 { lines.append("\(Digits.count(children, "record")) with it as parent will keep it from being deleted.") }
        }
        return ConfirmationView(
            on: .fetch, title: "Delete \(named)?", lines: lines, action: visit.place.link("record/delete"),
            fields: [Frame.Hidden(name: "name", value: name.string), Frame.Hidden(name: "tag", value: record.recordChangeTag)],
            button: "Delete the record", cancel: visit.place.link(toRecord: name, in: zoneID))
    }

    /// Deletes the record, provided that it has not changed since the confirmation page.
    static func delete(_ visit: Visit) async throws -> String {
        let (name, zoneID) = try target(visit)
        let tag = visit.fields.text("tag")
        let operation = RecordOperation(tag == nil ? .forceDelete : .delete, recordName: name, zoneID: zoneID, recordChangeTag: tag)
        let results = try await visit.measure { try await visit.database.modify(ModifyRequest([operation], zoneID: zoneID)) }
        for result in results { _ = try result.get() }
        return visit.place.inZone(zoneID).link("record", [("name", name.string), Notice.recordDeleted.parameter])
    }

    private static func target(_ visit: Visit) throws -> (Name, ZoneID) {
        guard let name = visit.fields.text("name"), let zoneID = visit.place.zoneID else {
            throw RecordError(.badRequest, "The address needs the record's name and its zone")
        }
        return (Name(name), zoneID)
    }
}
