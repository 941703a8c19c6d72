internal import JSON
public import Records

/// A zone as CloudKit's answer has it.
public struct ReceivedZone: Sendable, Hashable {
    /// The zone's name, with its owner if CloudKit tells it.
    public var zoneID: ZoneID
    /// The token of the zone's latest change; `nil` if it has no feed, as in the public database, and if CloudKit does not tell.
    public var syncToken: SyncToken?
    /// True if batches in the zone can be atomic; `nil` if CloudKit does not tell.
    public var atomic: Bool?
    /// True in the answer to its deletion, and in the feed of a database after it.
    public var isDeleted: Bool

    /// A zone of which nothing else is known.
    public init(zoneID: ZoneID) {
        self.zoneID = zoneID
        isDeleted = false
    }

    init(_ object: JSONObject) throws {
        guard let zoneID = object.zoneID else { throw UnexpectedShape(expected: "an object 'zoneID'") }
        self.zoneID = zoneID
        syncToken = object.syncToken
        atomic = object.bool("atomic")
        isDeleted = object.bool("deleted") ?? false
    }
}

/// A client's position in a feed, exactly as CloudKit sent it.
public struct SyncToken: Sendable, Hashable, CustomStringConvertible {
    /// Opaque: keep it, and send it as it is.
    public let text: String

    /// A token that was kept as its text.
    public init(_ text: String) {
        self.text = text
    }

    public var description: String { text }
}

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
