internal import JSON
internal import Records

/// Shares equal texts between requests.
///
/// Clients send similar requests again and again. Sharing lets the short-lived memory of each request be released as a
/// whole and reused. Thousands of small retained strings would fragment it, and requests would work in uncached memory.
struct SharedTexts: Sendable {
    private static let count = 64
    /// Longer texts are not shared, in bytes.
    private static let limit = 512

    /// The maximum number of zones to compare. Most requests have fewer, and more comparisons would cost more than they save.
    private static let zoneLimit = 8

    /// The common texts of a client's requests to the same target.
    private struct Texts: Sendable {
        let target: Name
        let operation: Name
        let container: ContainerID?
        let userRecordName: Name?
        let client: ClientIdentity
        let zoneIDs: [ZoneID]
        let recordType: Name?

        init(_ request: ServedRequest) {
            target = Name(request.target)
            operation = Name(request.operation)
            container = request.container
            userRecordName = request.userRecordName
            client = request.client
            zoneIDs = request.zoneIDs
            recordType = request.recordType
        }
    }

    /// A cache by target, user and client. A new entry replaces another one with the same hash.
    private var known: [Texts?] = Array(repeating: nil, count: count)
    /// The number of requests that reused the texts of an earlier one.
    private(set) var hits = 0

    /// Replaces the texts of a request by those of an earlier one, if they are equal byte for byte.
    mutating func share(_ request: inout ServedRequest) {
        let target = Name(request.target)
        if target.utf8.count > Self.limit { return }
        let place = Self.place(of: request, target)
        guard let texts = known[place], texts.target == target, texts.operation == Name(request.operation),
            texts.container == request.container, texts.userRecordName == request.userRecordName, texts.client.isSame(as: request.client),
            texts.zoneIDs == request.zoneIDs, texts.recordType == request.recordType
        else {
            if request.areTextsShort(Self.limit), request.zoneIDs.count <= Self.zoneLimit { known[place] = Texts(request) }
            return
        }
        hits += 1
        request.target = texts.target.string
        request.operation = texts.operation.string
        request.container = texts.container
        request.userRecordName = texts.userRecordName
        request.client = texts.client
        request.zoneIDs = texts.zoneIDs
        request.recordType = texts.recordType
    }

    /// Includes the client, so that alternating clients do not replace each other's entries.
    private static func place(of request: ServedRequest, _ target: Name) -> Int {
        var hasher = Hasher()
        hasher.combine(target)
        hasher.combine(request.userRecordName)
        for text in [request.client.name, request.client.deviceID, request.client.userAgent] { hasher.combine(text.map { Name($0) }) }
        return Int(UInt(bitPattern: hasher.finalize()) % UInt(count))
    }
}

extension ServedRequest {
    /// True if the texts are short enough to share.
    fileprivate func areTextsShort(_ limit: Int) -> Bool {
        let client = (client.name?.utf8.count ?? 0) + (client.deviceID?.utf8.count ?? 0) + (client.userAgent?.utf8.count ?? 0)
        return client + operation.utf8.count <= 2 * limit
    }
}

extension ClientIdentity {
    fileprivate func isSame(as other: ClientIdentity) -> Bool {
        Self.isSame(name, other.name) && Self.isSame(deviceID, other.deviceID) && Self.isSame(userAgent, other.userAgent)
    }

    private static func isSame(_ left: String?, _ right: String?) -> Bool {
        left.map { Name($0) } == right.map { Name($0) }
    }
}
