internal import Console
internal import RecordStore
internal import Records

/// Deleted zones. The database remembers them only to inform its clients.
struct GoneZones: ViewModel {
    struct Row: ViewModel {
        let name: String
        let owner: String?
        let mark: Pill
        let when: ValueView
    }

    let rows: [Row]
    /// A note about zones that are not listed.
    let more: String?
    let marks: Set<ZoneMark>
    let count: Int

    /// The maximum number of zones to show, the most recently deleted first.
    private static let limit = 100
    /// The maximum number of zones to read at once. Zones are in the order of their latest change, so the most recently deleted ones come last.
    private static let lookedThroughLimit = 100_000

    /// - Returns: `nil` if there are none.
    init?(_ visit: Visit) async throws {
        guard visit.place.hasFeed else { return nil }
        let request = DatabaseChangesRequest(includesGoneZones: true, limit: Self.lookedThroughLimit)
        let page = try await visit.measure { try await visit.database.databaseChanges(request) }
        let gone = page.changes.filter { $0.kind != .changed }
        if gone.isEmpty { return nil }
        let shown = gone.suffix(Self.limit).reversed().compactMap { change in ZoneMark(change.kind, in: visit.place).map { (change, $0) } }
        rows = shown.map { change, mark in
            Row(
                name: visit.zoneName(change.zoneID), owner: visit.ownerName(change.zoneID), mark: mark.pill,
                when: change.timestamp.map { ValueView(.time($0)) } ?? .missing)
        }
        let earlier = gone.count > shown.count ? "\(Digits.count(gone.count - shown.count, "more zone")) were deleted earlier." : nil
        let later = page.moreComing ? "Only \(Digits.grouped(Self.lookedThroughLimit)) zones were checked; others may have been deleted later." : nil
        let remarks = [earlier, later].compactMap { $0 }
        more = remarks.isEmpty ? nil : remarks.joined(separator: " ")
        marks = Set(shown.map { $0.1 })
        count = gone.count
    }

    func child(named name: String) -> Any? {
        switch name {
        case "rows": rows
        case "more": more ?? Absent()
        default: nil
        }
    }
}
