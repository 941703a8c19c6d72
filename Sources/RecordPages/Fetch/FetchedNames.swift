internal import Console
internal import JSON
internal import RecordStore
internal import Records
internal import Text

/// The names of a fetch, and the records that they stand for: of the chosen zone, or of all zones.
struct FetchedNames {
    /// The names in the input, without empty lines.
    let names: [String]
    /// The chosen zone, or the only one; `nil` for all zones.
    let zoneID: ZoneID?

    init(_ visit: Visit) {
        names = (visit.fields["names"] ?? "").formLines.map { $0.trimmingSpaces }.filter { !$0.isEmpty }
        zoneID = visit.place.zoneID ?? (visit.zones.count < 2 && visit.place.address.scope != .shared ? .default : nil)
    }

    /// One record for each name in one zone. In all zones, a name stands for the record of each zone that has it, and else for one that does not exist.
    /// - Returns: the records, and the number of zones that were not searched.
    /// - Throws: `RecordError` BAD_REQUEST for more names than a request may have.
    func recordIDs(_ visit: Visit) async throws -> (recordIDs: [RecordID], unsearched: Int) {
        guard names.count <= FetchView.nameLimit else {
            throw RecordError(
                .badRequest, "A request may have \(FetchView.nameLimit) record names, and this one has \(Digits.grouped(names.count)); send several requests")
        }
        if let zoneID { return (names.map { RecordID(recordName: Name($0), zoneID: zoneID) }, 0) }
        guard let other = visit.zones.first?.zoneID, !names.isEmpty else { return ([], 0) }
        let search = try await ZoneSearch(for: names.map { Name($0) }, in: visit.zones.map(\.zoneID), of: visit)
        let recordIDs = names.flatMap { name in
            search.records[Name(name)]?.map(\.recordID) ?? [RecordID(recordName: Name(name), zoneID: other)]
        }
        return (recordIDs, search.unsearched)
    }
}
