internal import JSON
internal import Records

/// Maps the records of an export and their references to the target zones.
struct RestorePlaces: Sendable {
    private let header: ExportHeader
    private let address: DatabaseAddress
    private let caller: Caller
    /// The target zone of all records; `nil` to keep their own zones.
    private let zoneID: ZoneID?

    init(_ header: ExportHeader, into address: DatabaseAddress, as caller: Caller, zoneID: ZoneID?) throws(ImportError) {
        self.header = header
        self.address = address
        self.caller = caller
        self.zoneID = zoneID
        guard zoneID == nil else { return }
        let names = header.zones.map { "'\($0.zoneName)'" }.joined(separator: ", ")
        if address.scope == .public, !header.zones.isEmpty {
            throw .invalid("The public database has only its default zone, but the export has \(names); choose another --database")
        }
        if address.scope == .shared, header.address.scope != .shared {
            throw .invalid("A zone of the shared database belongs to another user: add --zone and --zone-owner")
        }
        if address.scope != .shared, Set(header.zones.map(\.zoneName)).count < header.zones.count {
            throw .invalid("The export has zones with the same name of several users; restore it into the shared database")
        }
    }

    /// True if all records go into one zone.
    var isSingle: Bool { zoneID != nil }

    /// The zones that must exist after the import.
    var zones: [ZoneID] {
        if let zoneID { return [zoneID] }
        return header.zones.map(target)
    }

    /// The target zone for records of an exported zone.
    func target(of source: ZoneID) -> ZoneID {
        if let zoneID { return zoneID }
        return address.scope == .shared ? source : ZoneID(zoneName: source.zoneName)
    }

    /// True if shares of an exported zone are restored: from one private database to another, and not into its default zone.
    func carriesShares(of source: ZoneID) -> Bool {
        header.address.scope == .private && address.scope == .private && !target(of: source).isDefault
    }

    /// The record with its target zone. References to the source zone or owner become references to the target zone or owner.
    func placed(_ record: RestoredRecord) -> RestoredRecord {
        var record = record
        let target = target(of: record.zoneID)
        let move = ReferenceMove(
            from: record.zoneID, in: header.address.scope, of: header.user?.userRecordName, to: target, in: address.scope, of: caller.userRecordName)
        if !move.changesNothing { record.mapReferences(move.moved) }
        record.zoneID = target
        return record
    }
}
