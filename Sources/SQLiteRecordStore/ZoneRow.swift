internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

/// A row of `zones` with the owner's name.
struct ZoneRow {
    let number: Int64
    /// User number of the owner; 0 in the public database.
    let owner: Int64
    let zoneID: ZoneID
    let position: Int64
    let moment: Timestamp
    let floor: Int64
    /// `.changed` for an existing zone.
    let kind: ZoneChange.Kind

    static let columns = "z.number, z.owner, z.name, z.position, z.moment, z.floor, z.state, coalesce(u.name, '') AS ownerName"
    static let source = "zones z LEFT JOIN users u ON u.number = z.owner"

    /// - Throws: ``DamagedRow``.
    init(_ row: Row) throws {
        let values = row.values(of: "zones")
        number = try values("number")
        owner = try values("owner")
        let ownerName = Name(try values("ownerName") as String)
        // A zone with an unknown owner must not be taken for a public one.
        if ownerName.isEmpty != (owner == 0) { throw DamagedRow(in: "users", "has no user of the number \(owner), who owns a zone") }
        zoneID = ZoneID(zoneName: Name(try values("name") as String), ownerRecordName: ownerName.isEmpty ? ZoneID.publicOwner : ownerName)
        (position, floor) = (try values("position"), try values("floor"))
        if let place = Self.impossible(position) ?? Self.impossible(floor) {
            throw DamagedRow(in: "zones", "has a zone at position \(place), which there is not")
        }
        moment = Timestamp(milliseconds: try values("moment"))
        kind = try Self.kind(ofState: try values("state"))
    }

    private static func impossible(_ position: Int64) -> Int64? { 0...StoredRow.lastPosition ~= position ? nil : position }

    private static func kind(ofState state: Int) throws -> ZoneChange.Kind {
        switch state {
        case 0: .changed
        case 1: .deleted
        case 2: .purged
        default: throw DamagedRow(in: "zones", "has a zone in the state \(state), which there is not")
        }
    }

    static func state(of kind: ZoneChange.Kind) -> Int {
        switch kind {
        case .changed: 0
        case .deleted: 1
        case .purged: 2
        }
    }
}
