internal import RecordStore
internal import Records

/// `zones/list`: lists all zones of the database (Apple's reference page "Fetching Zones").
struct ZonesList: Endpoint {
    let allowsGET = true
    let purpose = EndpointPurpose.ofUser
    let isBrief = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let zones = try await call.database().zones()
        writer.object { writer in
            writer.member("zones", values: zones) { $0.value($1) }
        }
    }
}

/// `zones/lookup`: looks zones up by ID (Apple's reference page "Fetching Zones by Identifier").
struct ZonesLookup: Endpoint {
    let purpose = EndpointPurpose.ofUser
    let isBrief = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let zoneIDs = try call.body.items("zones").map { try $0.zoneIdentity() }
        call.note?.about(zoneIDs)
        let zones = try await call.database().fetchZones(zoneIDs)
        call.note?.items(zones, areRecords: false) { zoneIDs[$0].zoneName }
        writer.object { writer in
            writer.member("zones", values: zip(zoneIDs, zones)) { writer, item in
                let (zoneID, result) = item
                switch result {
                case .success(let zone): writer.value(zone)
                case .failure(let error): writer.value(error, zoneID: zoneID)
                }
            }
        }
    }
}

/// `zones/modify`: creates and deletes custom zones. Every operation is attempted (Apple's reference page "Modifying
/// Zones").
struct ZonesModify: Endpoint {
    let purpose = EndpointPurpose.ofUser

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let operations = try call.body.items("operations").map(Self.operation)
        call.note?.about(operations.map(\.zoneID))
        let zones = try await call.database().modifyZones(operations)
        call.note?.items(zones, areRecords: false) { operations[$0].zoneID.zoneName }
        writer.object { writer in
            writer.member("zones", values: zip(operations, zones)) { writer, item in
                let (operation, result) = item
                switch (result, operation) {
                case (.success(let zone), .create): writer.value(zone)
                case (.success(let zone), .delete):
                    writer.object { writer in
                        writer.name("zoneID")
                        writer.value(zone.zoneID)
                        writer.member("deleted", true)
                    }
                case (.failure(let error), _): writer.value(error, zoneID: operation.zoneID)
                }
            }
        }
    }

    private static func operation(_ object: RequestObject) throws -> ZoneOperation {
        let kind = try object.required("operationType", "a string", object.string("operationType"))
        let zoneID = try object.required("zone", "an object", object.object("zone")).zoneIdentity()
        switch kind {
        case "create": return .create(zoneID)
        case "delete": return .delete(zoneID)
        default:
            throw RecordError.unexpectedInput(
                "Unknown operationType '\(kind)' in '\(object.place)'; known are create, delete")
        }
    }
}
