internal import JSON
internal import RecordStore
package import Records

/// The records of some zones with a text in their name or title.
package struct RecordSearch: Sendable {
    package struct Match: Sendable {
        package let record: StoredRecord
        /// In full length; `nil` for a record without one.
        let wholeTitle: String?

        package var title: String? { wholeTitle.map(RecordTitles.shortened) }
    }

    /// The limits of one search, which reads records in the order of their names, zone by zone.
    private static let readLimit = 5000
    private static let timeLimit = Duration.milliseconds(300)
    private static let pageLimit = PageLimit(records: 500, bytes: 4 << 20)

    /// A record with exactly this name comes first.
    package private(set) var matches: [Match] = []
    /// The number of records that were compared.
    private(set) var count = 0
    /// True if the search ended before the last record.
    private(set) var isCut = false

    /// - Parameters:
    ///   - zoneIDs: the zones to search, the more important ones first.
    ///   - limit: the search ends with more matches.
    package init(for text: String, in zoneIDs: [ZoneID], limit: Int, _ visit: Visit) async throws {
        try await self.init(FoundWords(text), in: zoneIDs, limit: limit, visit)
    }

    init(_ words: FoundWords, in zoneIDs: [ZoneID], limit: Int, _ visit: Visit) async throws {
        let titles = visit.titles
        func add(_ record: StoredRecord) throws {
            let title = try titles.wholeTitle(of: record)
            let names = [record.recordID.recordName.string] + (title.map { [$0] } ?? [])
            if words.rank(of: names) != nil { matches.append(Match(record: record, wholeTitle: title)) }
        }
        let end = ContinuousClock.now + Self.timeLimit
        // A whole name is found however many records there are.
        let exact = try await ZoneSearch(for: [Name(words.typed)], in: zoneIDs, keys: titles.fields, of: visit).records.values.flatMap(\.self)
        let exactIDs = Set(exact.map(\.recordID))
        for record in exact { try add(record) }
        for zoneID in zoneIDs {
            var last: Name?
            repeat {
                let request = RecordListRequest(zoneID, after: last, limit: Self.pageLimit)
                let page: RecordListPage
                do {
                    page = try await visit.measure { try await visit.database.list(request) }
                } catch let error as RecordError where error.code == .zoneNotFound {
                    break
                }
                for record in page.records where !exactIDs.contains(record.recordID) { try add(record) }
                count += page.records.count
                last = page.last
                isCut = matches.count > limit || count >= Self.readLimit || ContinuousClock.now > end
                if isCut { return }
            } while last != nil
        }
    }
}
