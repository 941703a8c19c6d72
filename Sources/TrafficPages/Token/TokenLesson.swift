internal import Console
internal import JSON
internal import RecordStore
internal import Records
internal import Text

/// The tutorial of the page Tokens: the purpose of tokens, and the first token of a new device.
struct TokenLesson: ViewModel {
    /// The maximum number of records per web service answer.
    private static let pageSize = 200

    let zone: String
    /// `12,345 records`; `nil` if the engine does not count.
    let count: String?
    /// The number of requests for a playback without a token.
    let requests: String
    let query: CurlLine
    let playback: CurlLine
    let pull: CurlLine
    let current: CurlLine
    let lookup: CurlLine
    let isOpen: Bool

    /// An example request. The page inserts the server's address between the two parts.
    struct CurlLine: ViewModel {
        let label: String
        let start: String
        let rest: String
    }

    init(_ visit: Visit, isOpen: Bool) async throws {
        self.isOpen = isOpen
        let zoneID = visit.place.zoneID.flatMap { visit.hasFeed($0) ? $0 : nil } ?? visit.customZones.first?.zoneID
        zone = zoneID.map(visit.zoneName) ?? "Notes"
        let counts = if let zoneID { try await visit.measure { try await visit.counts(in: zoneID) } } else { ZoneCounts?.none }
        let type = counts?.records.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key ?? visit.types.first?.name ?? "Note"
        let total = counts?.total ?? 0
        count = counts.map { Digits.count($0.total, "record") }
        requests = Digits.count(max(1, (total + Self.pageSize - 1) / Self.pageSize), "request")
        let address = visit.place.address
        let scope: DatabaseScope = address.scope == .public ? .private : address.scope
        let database = "\(address.container)/\(address.environment.rawValue)/\(scope.rawValue)"
        let start = "curl -s \(SignedIn.curlOption)" + (visit.place.user.map { "-H 'X-Skylight-User: \($0.shellEscaped)' " } ?? "") + "'"
        let identity = Self.identity(zoneID ?? ZoneID(zoneName: "Notes"), scope: scope)
        func post(_ service: String, _ label: String, _ members: [(Name, JSONValue)]) -> CurlLine {
            let body = JSONWriter.bytes(of: .object(JSONObject(members.map { JSONObject.Member(name: $0.0, value: $0.1) })))
            return CurlLine(
                label: label, start: start, rest: "/database/1/\(database)/\(service)' -d '\(String(decoding: body, as: UTF8.self).shellEscaped)'")
        }
        query = post(
            "records/query", "Recent records",
            [
                ("zoneID", identity),
                ("query", ["recordType": .string(type.string), "sortBy": [["systemFieldName": "modifiedTimestamp", "ascending": false]]]),
                ("resultsLimit", 50),
            ])
        playback = post("changes/zone", "A pull without fields", [("zones", [["zoneID": identity, "desiredKeys": []]])])
        pull = post("changes/zone", "A pull since the token", [("zones", [["zoneID": identity, "syncToken": "TOKEN"]])])
        lookup = post("zones/lookup", "The zone and its current token", [("zones", [identity])])
        var parameters = [(name: "zone", value: zone)]
        if scope == .shared, let owner = zoneID?.ownerRecordName { parameters.append(("owner", owner.string)) }
        current = CurlLine(
            label: "The current token alone", start: start, rest: FormFields.url("/skylight/1/\(database)/token/current", parameters) + "'")
    }

    private static func identity(_ zoneID: ZoneID, scope: DatabaseScope) -> JSONValue {
        var object = JSONObject([JSONObject.Member(name: "zoneName", value: .string(zoneID.zoneName.string))])
        if scope == .shared, let owner = zoneID.ownerRecordName { object["ownerRecordName"] = .string(owner.string) }
        return .object(object)
    }
}
