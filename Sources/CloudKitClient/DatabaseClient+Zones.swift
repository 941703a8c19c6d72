internal import JSON
public import Records

extension DatabaseClient {
    /// All zones of the database.
    public func zones() async throws -> [ReceivedZone] {
        try await send(ServiceCall("zones/list", under: root)) { answer in try answer.objects("zones").map { try ReceivedZone($0) } }
    }

    /// Looks zones up, any number of them.
    /// - Returns: a zone or an error per zone ID, in their order. A missing zone is ZONE_NOT_FOUND.
    public func lookupZones(_ zoneIDs: [ZoneID]) async throws -> [Result<ReceivedZone, ServerError>] {
        try await inParts(zoneIDs) { part in
            let call = try ServiceCall("zones/lookup", under: root, items: "zones") { (writer) throws(CloudKitFailure) in
                // The reference has the zone's name and owner in the item itself.
                try writer.member("zones", part) { writer, zoneID in writer.members(of: zoneID) }
            }
            return try await send(call) { answer in try answer.objects("zones", count: part.count).map { try $0.result { try ReceivedZone($0) } } }
        }
    }

    /// Creates and deletes custom zones, any number of them. Every operation is attempted, in order.
    /// - Returns: a zone or an error per operation, in their order.
    public func modifyZones(_ operations: [ZoneOperation]) async throws -> [Result<ReceivedZone, ServerError>] {
        try await inParts(operations) { part in
            let call = try ServiceCall("zones/modify", under: root, .saves, items: "zones") { (writer) throws(CloudKitFailure) in
                try writer.member("operations", part) { writer, operation in
                    let kind = if case .create = operation { "create" } else { "delete" }
                    writer.member("operationType", kind)
                    writer.name("zone")
                    writer.object { $0.member(zoneID: operation.zoneID) }
                }
            }
            return try await send(call) { answer in try answer.objects("zones", count: part.count).map { try $0.result { try ReceivedZone($0) } } }
        }
    }
}
