internal import JSON
internal import RecordStore
internal import Records

/// The records of a database with a text in their name or title.
struct FoundRecords {
    let group: FoundGroup?
    /// A sentence about records that were not searched.
    let remark: String?

    /// The limits of one search, which reads records in the order of their names, zone by zone.
    private static let readLimit = 5000
    private static let timeLimit = Duration.milliseconds(300)
    private static let pageLimit = PageLimit(records: 500, bytes: 4 << 20)

    init(_ words: FoundWords, _ visit: Visit) async throws {
        guard !words.isEmpty, visit.database.can(.listRecords) else {
            (group, remark) = (nil, nil)
            return
        }
        let here = visit.place.zoneID
        let zoneIDs = (here.map { [$0] } ?? []) + visit.zones.map(\.zoneID).filter { zoneID in here.map { !visit.place.isSame($0, zoneID) } ?? true }
        let end = ContinuousClock.now + Self.timeLimit
        // A whole name is found however many records there are.
        let exact = try await ZoneSearch(for: [Name(words.typed)], in: zoneIDs, of: visit).records.values.flatMap(\.self)
        let exactIDs = Set(exact.map(\.recordID))
        var found = try exact.compactMap { try Found($0, words, visit) }
        var count = 0
        var isCut = false
        search: for zoneID in zoneIDs {
            var last: Name?
            repeat {
                let request = RecordListRequest(zoneID, after: last, limit: Self.pageLimit)
                let page: RecordListPage
                do {
                    page = try await visit.measure { try await visit.database.list(request) }
                } catch let error as RecordError where error.code == .zoneNotFound {
                    break
                }
                found += try page.records.compactMap { exactIDs.contains($0.recordID) ? nil : try Found($0, words, visit) }
                count += page.records.count
                last = page.last
                isCut = found.count > FoundGroup.limit || count >= Self.readLimit || ContinuousClock.now > end
                if isCut { break search }
            } while last != nil
        }
        let wasReadToTheEnd = !isCut || found.count > FoundGroup.limit
        group = FoundGroup("Records", of: found, words, isCut: isCut && found.count > FoundGroup.limit)
        remark = wasReadToTheEnd ? nil : "Parts of names and titles were searched in \(Digits.count(count, "record")); the others are found by their whole name."
    }
}

extension Found {
    /// - Returns: `nil` if neither name nor title has the words.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    fileprivate init?(_ record: StoredRecord, _ words: FoundWords, _ visit: Visit) throws {
        let name = record.recordID.recordName.string
        let label = try RecordLabel.wholeText(of: record)
        let names = [name] + (label.map { [$0] } ?? [])
        guard words.rank(of: names) != nil else { return nil }
        let place = "\(record.recordType.string) in \(visit.zoneName(record.recordID.zoneID))"
        self.init(
            label.map(RecordLabel.shortened) ?? name, note: label == nil ? place : "\(name) · \(place)",
            href: visit.place.link(toRecord: record.recordID.recordName, in: record.recordID.zoneID), names: names)
    }
}
