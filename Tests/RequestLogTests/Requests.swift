import Records
import RequestLog

/// Sample requests with defaults for everything that a test does not set.
enum Requests {
    static let container = ContainerID("iCloud.com.example.Test") ?? { preconditionFailure("a container identifier") }()
    static let address = DatabaseAddress(container: container, environment: .development, scope: .private)
    static let zone = ZoneID(zoneName: "Z")

    static func request(
        _ id: String, at seconds: Int64 = 0, operation: String = "records/query", client: String = "app",
        user: Name? = "_anna",
        _ change: (inout ServedRequest) -> Void = { _ in }
    ) -> ServedRequest {
        var request = ServedRequest(
            id: id, started: Timestamp(milliseconds: 1_790_000_000_000 + seconds * 1000), method: "POST",
            target: "/database/1/\(container)/development/private/\(operation)", operation: operation,
            client: ClientIdentity(name: client, deviceID: nil, userAgent: nil))
        request.address = address
        request.userRecordName = user
        request.status = 200
        change(&request)
        return request
    }

    static func token(_ text: String) -> ChangeToken { ChangeToken(bytes: Array(text.utf8)) }

    /// A pull with a returned token, or with an error.
    static func pull(
        _ sent: String?, _ given: String?, more: Bool = false, changes: Int = 1, zone: ZoneID? = zone,
        types: Set<Name>? = nil,
        error: ServedRequest.ItemError? = nil
    ) -> ServedRequest.Pull {
        ServedRequest.Pull(
            zoneID: zone, sent: sent.map(token), given: given.map(token), moreComing: more, changes: changes,
            recordTypes: types, error: error)
    }

    static let expired = ServedRequest.ItemError(
        RecordError(.badRequest, "client knowledge differs from server knowledge"), name: "Z")
    static let unknown = ServedRequest.ItemError(RecordError(.badRequest, "Unknown sync continuation type"), name: "Z")
}
