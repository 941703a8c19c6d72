internal import HTTPServing
internal import Hummingbird
internal import JSON
internal import RecordStore
internal import Records

extension FaultArea.Reach {
    /// The zones of a request, from its query string and body. Errors in the body are ignored here; the service reports them.
    init(of request: Request, action: String, body: [UInt8]) {
        if let zone = request.queryParameter("zone") {
            self = .zones([ZoneID(zoneName: Name(zone), ownerRecordName: request.queryParameter("owner").map { Name($0) })])
            return
        }
        // An unreadable body, or an unreadable part, names no zone. The service reports the error.
        guard let object = try? RequestObject(body) else {
            self = .database
            return
        }
        var zoneIDs: [ZoneID] = []
        let whole = (try? object.zoneID()) ?? nil
        for item in ((try? object.objects("zones")) ?? nil) ?? [] { zoneIDs += [try? item.zoneIdentity()].compactMap(\.self) }
        for name in ["operations", "records"] as [Name] {
            for item in ((try? object.objects(name)) ?? nil) ?? [] { zoneIDs += [Self.zoneID(of: item) ?? whole].compactMap(\.self) }
        }
        if zoneIDs.isEmpty, let whole { zoneIDs = [whole] }
        if zoneIDs.isEmpty, action.hasPrefix("records/") {
            if (try? object.bool("zoneWide")) == true {
                self = .allZones
                return
            }
            zoneIDs = [.default]
        }
        self = zoneIDs.isEmpty ? .database : .zones(zoneIDs)
    }

    /// The zone of an item: its own, its record's, or the item itself as a zone ID.
    private static func zoneID(of item: RequestObject) -> ZoneID? {
        if let zoneID = try? item.namedZone() { return zoneID }
        for name in ["zone", "record"] as [Name] {
            if let part = (try? item.object(name)) ?? nil, let zoneID = try? part.namedZone() { return zoneID }
        }
        return nil
    }
}
