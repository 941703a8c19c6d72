internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The record or the zone of a share form, and the share that it has.
struct ShareTarget: Sendable {
    let zoneID: ZoneID
    /// The root; `nil` for a whole zone.
    let root: StoredRecord?
    /// `nil` if the share is yet to be made.
    let share: ZoneShare?

    /// Finds the target that the fields of a request name: the root, or no name for the whole zone.
    static func load(_ visit: Visit) async throws -> ShareTarget {
        guard let zoneID = visit.place.zoneID else { throw RecordError(.badRequest, "The address needs the zone: zone=…") }
        guard let name = visit.fields.text("name").map({ Name($0) }) else {
            let shares = try await visit.measure { try await visit.database.shares(in: zoneID, after: nil, limit: 1) }
            return ShareTarget(zoneID: zoneID, root: nil, share: shares.first { $0.rootName == nil })
        }
        let root = try await RecordView.record(name, in: zoneID, visit: visit)
        let share = try await visit.measure { try await visit.database.share(showing: root) }
        return ShareTarget(zoneID: zoneID, root: root, share: share.flatMap { $0.rootName == name ? $0 : nil })
    }

    /// The share that the target has.
    /// - Throws: `RecordError` NOT_FOUND if there is none.
    static func existing(_ visit: Visit) async throws -> ZoneShare {
        guard let share = try await load(visit).share else { throw RecordError(.notFound, "It is not shared any more, or not with this user") }
        return share
    }

    /// The parameters that name it in an address.
    var parameters: [(name: String, value: String)] { root.map { [("name", $0.recordID.recordName.string)] } ?? [] }
}
