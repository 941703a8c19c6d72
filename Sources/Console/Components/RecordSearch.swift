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

    /// The maximum number of matches of one type that are kept, of those that begin with the text and of the others.
    private static let keptLimit = 100

    /// Records of exactly this name come first, then names that begin with the text. Among them, a type with few
    /// records comes before one with many.
    package private(set) var matches: [Match] = []
    /// True if matches are left out.
    private(set) var hasMore = false
    /// The number of records that were compared.
    private(set) var count = 0
    /// True if the search ended before the last record.
    private(set) var isCut = false

    /// - Parameters:
    ///   - zoneIDs: the zones to search, the more important ones first.
    package init(for text: String, in zoneIDs: [ZoneID], _ visit: Visit) async throws {
        try await self.init(SearchWords(text), in: zoneIDs, visit)
    }

    init(_ words: SearchWords, in zoneIDs: [ZoneID], _ visit: Visit) async throws {
        struct Kind: Hashable {
            let rank: Int
            let type: Name
        }
        let titles = visit.titles
        var found: [Kind: [Match]] = [:]
        var sizes: [Name: Int] = [:]
        var order: [Name] = []
        func add(_ record: StoredRecord) throws {
            if sizes[record.recordType] == nil { order.append(record.recordType) }
            sizes[record.recordType, default: 0] += 1
            let title = try titles.wholeTitle(of: record)
            let names = [record.recordID.recordName.string] + (title.map { [$0] } ?? [])
            guard let rank = words.rank(of: names) else { return }
            let kind = Kind(rank: rank, type: record.recordType)
            if found[kind, default: []].count < Self.keptLimit {
                found[kind, default: []].append(Match(record: record, wholeTitle: title))
            } else {
                hasMore = true
            }
        }
        defer {
            let types = order.enumerated().sorted {
                (sizes[$0.element] ?? 0, $0.offset) < (sizes[$1.element] ?? 0, $1.offset)
            }.map(\.element)
            for rank in Set(found.keys.map(\.rank)).sorted() {
                for type in types { matches += found[Kind(rank: rank, type: type)] ?? [] }
            }
        }
        let end = ContinuousClock.now + Self.timeLimit
        // A whole name is found however many records there are.
        let exact = try await ZoneSearch(for: [Name(words.typed)], in: zoneIDs, keys: titles.fields, of: visit).records
            .values.flatMap(\.self)
        let exactIDs = Set(exact.map(\.recordID))
        for record in exact { try add(record) }
        for zoneID in zoneIDs {
            var last: Name?
            repeat {
                let request = RecordListRequest(zoneID, after: last, limit: Self.pageLimit)
                let page: RecordListPage
                do {
                    page = try await visit.measure { try await visit.database.require(.listRecords).list(request) }
                } catch let error as RecordError where error.code == .zoneNotFound {
                    break
                }
                for record in page.records where !exactIDs.contains(record.recordID) { try add(record) }
                count += page.records.count
                last = page.last
                isCut = count >= Self.readLimit || ContinuousClock.now > end
                if isCut { return }
            } while last != nil
        }
    }
}

// MARK: - Zones

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
        let limit =
            visit.connection == nil
            ? min(Self.zoneLimit, max(1, Self.lookupLimit / max(1, names.count))) : Self.connectedZoneLimit
        let searched = zones.prefix(limit)
        unsearched = zones.count - searched.count
        let distinct = Set(names)
        let recordIDs = searched.flatMap { zoneID in distinct.map { RecordID(recordName: $0, zoneID: zoneID) } }
        let results = try await visit.measure { try await visit.database.fetch(recordIDs, desiredKeys: keys) }
        records = Dictionary(grouping: results.compactMap { try? $0.get() }, by: \.recordID.recordName)
    }
}
