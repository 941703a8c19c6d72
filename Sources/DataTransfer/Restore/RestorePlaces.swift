internal import JSON
internal import Records

/// Where the records of an export go, and what becomes of the zones that their references name.
struct RestorePlaces: Sendable {
    private let header: ExportHeader
    private let address: DatabaseAddress
    private let caller: Caller
    /// The zone for all records, `nil` for their own.
    private let zoneID: ZoneID?

    init(_ header: ExportHeader, into address: DatabaseAddress, as caller: Caller, zoneID: ZoneID?) throws(ImportError) {
        self.header = header
        self.address = address
        self.caller = caller
        self.zoneID = zoneID
        guard zoneID == nil else { return }
        let names = header.zones.map { "'\($0.zoneName)'" }.joined(separator: ", ")
        if address.scope == .public, !header.zones.isEmpty {
            throw .invalid("The public database has only its default zone, and the export has \(names); choose another --database")
        }
        if address.scope == .shared, header.address.scope != .shared {
            throw .invalid("In the shared database a zone belongs to somebody else: add --zone and --zone-owner")
        }
        if address.scope != .shared, Set(header.zones.map(\.zoneName)).count < header.zones.count {
            throw .invalid("The export has zones of one name that belong to several users; restore it into the shared database")
        }
    }

    /// Whether all records go into one zone, whatever theirs was.
    var isSingle: Bool { zoneID != nil }

    /// The zones that are to be there in the end.
    var zones: [ZoneID] {
        if let zoneID { return [zoneID] }
        return header.zones.map(target)
    }

    /// Where records of a zone of the export go.
    func target(of source: ZoneID) -> ZoneID {
        if let zoneID { return zoneID }
        return address.scope == .shared ? source : ZoneID(zoneName: source.zoneName)
    }

    /// A record as it is to be saved: a reference that names its zone or its owner names those of the copy.
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
