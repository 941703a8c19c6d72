internal import JSON
internal import RecordStore
internal import Records

/// The records of a database with a text in their name or title.
struct FoundRecords {
    let group: FoundGroup?
    /// A sentence about records that were not searched.
    let remark: String?

    init(_ words: FoundWords, _ visit: Visit) async throws {
        guard !words.isEmpty, visit.database.can(.listRecords) else {
            (group, remark) = (nil, nil)
            return
        }
        let here = visit.place.zoneID
        let zoneIDs = (here.map { [$0] } ?? []) + visit.zones.map(\.zoneID).filter { zoneID in here.map { !visit.place.isSame($0, zoneID) } ?? true }
        let search = try await RecordSearch(words, in: zoneIDs, visit)
        let isShort = search.matches.count <= FoundGroup.limit
        group = FoundGroup("Records", of: search.matches.map { Found($0, visit) }, words, isCut: search.hasMore || search.isCut && !isShort)
        remark = !search.isCut || !isShort
            ? nil : "Parts of names and titles were searched in \(Digits.count(search.count, "record")); the others are found by their whole name."
    }
}

extension Found {
    fileprivate init(_ match: RecordSearch.Match, _ visit: Visit) {
        let recordID = match.record.recordID
        let name = recordID.recordName.string
        let place = "\(match.record.recordType.string) in \(visit.zoneName(recordID.zoneID))"
        self.init(
            match.title ?? name, note: match.title == nil ? place : "\(name) · \(place)", href: visit.place.link(toRecord: recordID.recordName, in: recordID.zoneID),
            names: [name] + (match.wholeTitle.map { [$0] } ?? []))
    }
}
