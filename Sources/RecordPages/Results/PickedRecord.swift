internal import Console
internal import JSON
internal import Records

/// A ticked record, in the version that the page showed.
struct PickedRecord: Sendable {
    /// The form field with the record.
    static let fieldName = "pick"

    let recordID: RecordID
    let recordChangeTag: String

    init(_ record: StoredRecord) {
        recordID = record.recordID
        recordChangeTag = record.recordChangeTag
    }

    /// Parses the output of ``text(in:)``.
    init?(_ text: String, in place: Place) {
        let lines = text.formLines
        guard lines.count == 3, case .one(let zoneID) = Place.zone(lines[0], owner: nil, in: place.address.scope) else { return nil }
        recordID = RecordID(recordName: Name(lines[1]), zoneID: zoneID)
        recordChangeTag = lines[2]
    }

    /// Zone, name and change tag, one per line. None of them can contain line breaks.
    func text(in place: Place) -> String {
        "\(place.zoneText(recordID.zoneID))\n\(recordID.recordName)\n\(recordChangeTag)"
    }
}

extension Visit {
    /// The distinct records in the request's form.
    /// - Throws: `RecordError` BAD_REQUEST if there are none, or more than a page shows.
    func pickedRecords() throws -> [PickedRecord] {
        var seen: Set<RecordID> = []
        let picked = fields.all(PickedRecord.fieldName).compactMap { PickedRecord($0, in: place) }.filter { seen.insert($0.recordID).inserted }
        if picked.isEmpty { throw RecordError(.badRequest, "No record is selected: select records in the table first") }
        if picked.count > FetchView.nameLimit {
            throw RecordError(.badRequest, "More than \(FetchView.nameLimit) records are selected; select fewer")
        }
        return picked
    }
}
