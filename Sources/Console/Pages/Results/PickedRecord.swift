internal import JSON
internal import Records

/// A record that was picked on a page, as it was then.
struct PickedRecord: Sendable {
    /// The field of forms that names it.
    static let fieldName = "pick"

    let recordID: RecordID
    let recordChangeTag: String

    init(_ record: StoredRecord) {
        recordID = record.recordID
        recordChangeTag = record.recordChangeTag
    }

    /// Reads what ``text(in:)`` wrote.
    init?(_ text: String, in place: Place) {
        let lines = text.formLines
        guard lines.count == 3, case .one(let zoneID) = Place.zone(lines[0], owner: nil, in: place.address.scope) else { return nil }
        recordID = RecordID(recordName: Name(lines[1]), zoneID: zoneID)
        recordChangeTag = lines[2]
    }

    /// Zone, name and change tag, a line each: names of all three have no line breaks.
    func text(in place: Place) -> String {
        "\(place.zoneText(recordID.zoneID))\n\(recordID.recordName)\n\(recordChangeTag)"
    }
}

extension Visit {
    /// The records that the request's form names, each once.
    /// - Throws: `RecordError` BAD_REQUEST when there are none, or more than a page shows.
    func pickedRecords() throws -> [PickedRecord] {
        var seen: Set<RecordID> = []
        let picked = fields.all(PickedRecord.fieldName).compactMap { PickedRecord($0, in: place) }.filter { seen.insert($0.recordID).inserted }
        if picked.isEmpty { throw RecordError(.badRequest, "No record is picked: tick some on the page first") }
        if picked.count > FetchView.nameLimit {
            throw RecordError(.badRequest, "More than \(FetchView.nameLimit) records are picked; do it in several steps")
        }
        return picked
    }
}
