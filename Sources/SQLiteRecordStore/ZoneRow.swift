internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

/// A row of `zones`, with its owner's name.
struct ZoneRow {
    let number: Int64
    /// 0 in the public database.
    let owner: Int64
    let zoneID: ZoneID
    let position: Int64
    let moment: Timestamp
    let floor: Int64
    /// `.changed` while the zone lives.
    let kind: ZoneChange.Kind

    static let columns = "z.number, z.owner, z.name, z.position, z.moment, z.floor, z.state, coalesce(u.name, '') AS ownerName"
    static let source = "zones z LEFT JOIN users u ON u.number = z.owner"

    init(_ row: Row) {
        number = row["number"]
        owner = row["owner"]
        let ownerName = Name(row["ownerName"] as String)
        zoneID = ZoneID(zoneName: Name(row["name"] as String), ownerRecordName: ownerName.isEmpty ? ZoneID.publicOwner : ownerName)
        position = row["position"]
        moment = Timestamp(milliseconds: row["moment"])
        floor = row["floor"]
        kind = Self.kinds[row["state"] as Int] ?? .changed
    }

    private static let kinds: [Int: ZoneChange.Kind] = [1: .deleted, 2: .purged]

    static func state(of kind: ZoneChange.Kind) -> Int {
        kinds.first { $0.value == kind }?.key ?? 0
    }
}
