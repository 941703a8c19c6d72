internal import JSON
internal import Records

/// Lets requests that say the same share the texts in which they say it.
///
/// A client asks for the same again and again. Kept once, its texts leave the memory that a request took in one piece, where the next one finds
/// it; kept ten thousand times, they would lie scattered over it, and each request would work in memory that no cache holds.
struct SharedTexts: Sendable {
    private static let count = 64
    /// Texts that are longer are not looked at.
    private static let limit = 512

    /// Of most requests all zones; to compare more of them would cost more than it saves.
    private static let zoneLimit = 8

    /// What the requests of one client have in common that it sends to the same target.
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

    /// By target, user and client together; a request takes the place of another one that falls on the same.
    private var known: [Texts?] = Array(repeating: nil, count: count)
    /// Requests that were given the texts of one before.
    private(set) var hits = 0

    /// Gives a request the texts of one before where they are the same, byte by byte.
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

    /// Clients in turns must not drive each other out.
    private static func place(of request: ServedRequest, _ target: Name) -> Int {
        var hasher = Hasher()
        hasher.combine(target)
        hasher.combine(request.userRecordName)
        for text in [request.client.name, request.client.deviceID, request.client.userAgent] { hasher.combine(text.map { Name($0) }) }
        return Int(UInt(bitPattern: hasher.finalize()) % UInt(count))
    }
}

extension ServedRequest {
    /// Whether the texts that could be kept for others are short.
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
