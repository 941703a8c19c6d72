internal import Records

extension ServedRequest {
    /// The size in bytes above which a request is truncated.
    private static let roomyLimit = 16 << 10
    /// The size limit of a truncated request, in bytes.
    private static let limit = 128 << 10

    /// The approximate memory use in bytes.
    private var size: Int {
        var size = 600 + id.utf8.count + target.utf8.count + operation.utf8.count
        size +=
            (client.name?.utf8.count ?? 0) + (client.deviceID?.utf8.count ?? 0) + (client.userAgent?.utf8.count ?? 0)
        size +=
            (recordType?.utf8.count ?? 0) + (error?.size ?? 0) + (plan == nil ? 0 : Plan.size)
            + (authentication?.size ?? 0)
        size += refusals.count * 16 + mistakes.values.reduce(0) { $0 + 48 + $1.utf8.count }
        for zoneID in zoneIDs { size += zoneID.size }
        for error in itemErrors { size += error.size }
        for pull in pulls { size += pull.size }
        return size
    }

    /// A copy without oversized names, tokens and lists, which real clients do not send, and its size.
    func cut() -> (request: ServedRequest, size: Int) {
        let size = size
        guard size > Self.roomyLimit else { return (self, size) }
        var request = self
        request.client = ClientIdentity(
            name: client.name?.cut(to: 255), deviceID: client.deviceID?.cut(to: 255),
            userAgent: client.userAgent?.cut(to: 512))
        request.authentication = authentication?.cut
        request.recordType = recordType?.cut
        request.operation = operation.cut(to: 1024)
        request.zoneIDs = zoneIDs.map(\.cut)
        request.error = error?.cut
        request.mistakes = mistakes.mapValues { $0.cut(to: 1024) }
        request.itemErrors = itemErrors.map(\.cut)
        request.pulls = pulls.map(\.cut)
        // Each size is computed only once, because a request may have hundreds of pulls with hundreds of fields each.
        var room = Self.limit
        func fits(_ size: Int) -> Bool {
            room -= size
            return room >= 0
        }
        request.zoneIDs = Array(request.zoneIDs.prefix { fits($0.size) })
        request.itemErrors = Array(request.itemErrors.prefix { fits($0.size) })
        request.pulls = Array(request.pulls.prefix { fits($0.size) })
        return (request, request.size)
    }
}

extension Authentication {
    fileprivate var size: Int {
        64 + (credential?.utf8.count ?? 0) + (session?.utf8.count ?? 0)
            + (problem.map { problem in
                let parts = problem.parts.reduce(0) {
                    $0 + 48 + $1.name.utf8.count + $1.expected.utf8.count + ($1.received?.utf8.count ?? 0)
                }
                let texts = [problem.sentence, problem.remedy, problem.expected, problem.received].reduce(0) {
                    $0 + ($1?.utf8.count ?? 0)
                }
                return 64 + texts + parts
            } ?? 0)
    }

    fileprivate var cut: Authentication {
        var authentication = self
        authentication.credential = credential?.cut(to: 128)
        authentication.problem = problem.map { problem in
            var problem = problem
            problem.sentence = problem.sentence.cut(to: 2048)
            problem.remedy = problem.remedy?.cut(to: 2048)
            problem.expected = problem.expected?.cut(to: 4096)
            problem.received = problem.received?.cut(to: 4096)
            problem.parts = problem.parts.prefix(8).map { part in
                SignedPart(
                    name: part.name.cut(to: 64), expected: part.expected.cut(to: 4096),
                    received: part.received?.cut(to: 4096), state: part.state)
            }
            return problem
        }
        return authentication
    }
}

extension ServedRequest.Plan {
    /// The approximate memory use of a plan in bytes: closures over a few field names. Its texts are not created for
    /// the measurement.
    fileprivate static let size = 512
}

extension ServedRequest.ItemError {
    var size: Int { 64 + (name?.utf8.count ?? 0) + reason.utf8.count }

    fileprivate var cut: ServedRequest.ItemError {
        ServedRequest.ItemError(name: name?.cut, code: code, reason: reason.cut(to: 1024))
    }
}

extension ServedRequest.Pull {
    fileprivate var size: Int { sizeWithoutLists + listsSize }

    var sizeWithoutLists: Int {
        160 + (zoneID?.size ?? 0) + (sent?.text.utf8.count ?? 0) + (given?.text.utf8.count ?? 0) + (error?.size ?? 0)
    }

    /// The approximate memory use of the requested types and fields, in bytes.
    var listsSize: Int {
        [recordTypes, keys].compactMap(\.self).reduce(0) { sum, names in
            sum + names.reduce(0) { $0 + 40 + $1.utf8.count }
        }
    }

    fileprivate var cut: ServedRequest.Pull {
        var pull = self
        pull.zoneID = zoneID?.cut
        // Skylight's tokens are shorter, so a longer token was refused.
        if let sent, sent.text.utf8.count > 680 {
            pull.sent = ChangeToken(text: String(decoding: sent.text.utf8.prefix(680), as: UTF8.self))
        }
        pull.error = error?.cut
        return pull
    }
}

extension ZoneID {
    fileprivate var size: Int { 32 + zoneName.utf8.count + (ownerRecordName?.utf8.count ?? 0) }
    fileprivate var cut: ZoneID { ZoneID(zoneName: zoneName.cut, ownerRecordName: ownerRecordName?.cut) }
}

extension Name {
    fileprivate var cut: Name { utf8.count <= 255 ? self : Name(string.cut(to: 255)) }
}

extension String {
    /// The first bytes of the text, with an ellipsis if it is truncated.
    fileprivate func cut(to limit: Int) -> String {
        guard utf8.count > limit else { return self }
        return String(decoding: utf8.prefix(limit), as: UTF8.self) + "…"
    }
}

// MARK: - Texts that requests share

/// Shares equal texts between requests.
///
/// Clients send similar requests again and again. Sharing lets the short-lived memory of each request be released as a
/// whole and reused. Thousands of small retained strings would fragment it, and requests would work in uncached memory.
struct SharedTexts: Sendable {
    private static let count = 64
    /// The maximum length in bytes of a text that is shared.
    private static let limit = 512

    /// The maximum number of zones to compare. Most requests have fewer, and more comparisons would cost more than they
    /// save.
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
            texts.container == request.container, texts.userRecordName == request.userRecordName,
            texts.client.isSame(as: request.client),
            texts.zoneIDs == request.zoneIDs, texts.recordType == request.recordType
        else {
            if request.areTextsShort(Self.limit), request.zoneIDs.count <= Self.zoneLimit {
                known[place] = Texts(request)
            }
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
        for text in [request.client.name, request.client.deviceID, request.client.userAgent] {
            hasher.combine(text.map { Name($0) })
        }
        return Int(UInt(bitPattern: hasher.finalize()) % UInt(count))
    }
}

extension ServedRequest {
    /// True if the texts are short enough to share.
    fileprivate func areTextsShort(_ limit: Int) -> Bool {
        let client =
            (client.name?.utf8.count ?? 0) + (client.deviceID?.utf8.count ?? 0) + (client.userAgent?.utf8.count ?? 0)
        return client + operation.utf8.count <= 2 * limit
    }
}

extension ClientIdentity {
    fileprivate func isSame(as other: ClientIdentity) -> Bool {
        Self.isSame(name, other.name) && Self.isSame(deviceID, other.deviceID)
            && Self.isSame(userAgent, other.userAgent)
    }

    private static func isSame(_ left: String?, _ right: String?) -> Bool {
        left.map { Name($0) } == right.map { Name($0) }
    }
}
