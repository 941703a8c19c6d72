internal import JSON
internal import Records

/// The changes of a zone that were fetched and not told yet.
struct FetchedChanges: Sendable {
    /// The number of records that are held back to put parents first.
    static let limit = 10_000

    private(set) var records: [Record] = []
    private(set) var deletions: [(recordID: RecordID, recordType: Name?)] = []
    private var places: [RecordID: Int] = [:]

    var isEmpty: Bool { records.isEmpty && deletions.isEmpty }
    var count: Int { records.count + deletions.count }

    /// Adds a page. A record that came before has changed since.
    /// - Throws: the error of a record that could not be read.
    mutating func add(_ page: Database.RecordZoneChanges) throws(OperationError) {
        // A record that was made anew is not deleted.
        let there = deletions.isEmpty ? [] : Set(page.modifications.compactMap(\.recordID))
        deletions.removeAll { there.contains($0.recordID) }
        for modification in page.modifications {
            let record = try modification.result.get()
            if let place = places[record.recordID] {
                records[place] = record
            } else {
                places[record.recordID] = records.count
                records.append(record)
            }
        }
        if page.deletions.isEmpty { return }
        deletions += page.deletions
        let deleted = Set(page.deletions.map(\.recordID))
        guard deleted.contains(where: { places[$0] != nil }) else { return }
        records.removeAll { deleted.contains($0.recordID) }
        places = Dictionary(records.enumerated().map { ($1.recordID, $0) }) { _, last in last }
    }

    /// The records, each after those of its zone that it refers to. Circles are cut anywhere.
    var parentsFirst: [Record] {
        var sorted: [Record] = []
        sorted.reserveCapacity(records.count)
        var begun = [Bool](repeating: false, count: records.count)
        for place in records.indices where !begun[place] {
            begun[place] = true
            // The way down from this record, with what is left to look at of each. Chains may be too long for recursion.
            var way = [(place: place, above: above(place))]
            while let last = way.last {
                guard let next = last.above.last else {
                    sorted.append(records[last.place])
                    way.removeLast()
                    continue
                }
                way[way.count - 1].above.removeLast()
                if begun[next] { continue }
                begun[next] = true
                way.append((next, above(next)))
            }
        }
        return sorted
    }

    private func above(_ place: Int) -> [Int] {
        let record = records[place]
        let names = (record.parent.map { [$0] } ?? []) + record.fields.values.flatMap { $0.value.map { Self.references(in: $0) } ?? [] }
        return names.compactMap { places[RecordID(recordName: $0, zoneID: record.recordID.zoneID)] }.sorted(by: >)
    }

    private static func references(in value: FieldValue) -> [Name] {
        switch value {
        case .reference(let reference): [reference.recordName]
        case .list(let elements, _): elements.flatMap { references(in: $0) }
        default: []
        }
    }
}
