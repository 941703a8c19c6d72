internal import JSON
internal import Records

extension ServedRequest {
    /// A request that says more of itself is cut.
    private static let roomyLimit = 16 << 10
    /// Bytes that one may take after that.
    private static let limit = 128 << 10

    /// About how many bytes it takes.
    private var size: Int {
        var size = 600 + id.utf8.count + target.utf8.count + operation.utf8.count
        size += (client.name?.utf8.count ?? 0) + (client.deviceID?.utf8.count ?? 0) + (client.userAgent?.utf8.count ?? 0)
        size += (recordType?.utf8.count ?? 0) + (error?.size ?? 0) + (plan?.size ?? 0) + (authentication?.size ?? 0)
        for zoneID in zoneIDs { size += zoneID.size }
        for error in itemErrors { size += error.size }
        for pull in pulls { size += pull.size }
        return size
    }

    /// The same without what no honest client sends: names, tokens and lists without measure; and how large it is then.
    func cut() -> (request: ServedRequest, size: Int) {
        let size = size
        guard size > Self.roomyLimit else { return (self, size) }
        var request = self
        request.client = ClientIdentity(
            name: client.name?.cut(to: 255), deviceID: client.deviceID?.cut(to: 255), userAgent: client.userAgent?.cut(to: 512))
        request.authentication = authentication?.cut
        request.recordType = recordType?.cut
        request.plan = plan.map { Plan(index: $0.index?.cut(to: 600), sentence: $0.sentence.cut(to: 2048)) }
        request.operation = operation.cut(to: 1024)
        request.zoneIDs = zoneIDs.map(\.cut)
        request.error = error?.cut
        request.itemErrors = itemErrors.map(\.cut)
        request.pulls = pulls.map(\.cut)
        // Sizes are added up once: lists of hundreds of pulls with hundreds of fields each come here.
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
                let parts = problem.parts.reduce(0) { $0 + 48 + $1.name.utf8.count + $1.expected.utf8.count + ($1.received?.utf8.count ?? 0) }
                let texts = [problem.sentence, problem.remedy, problem.expected, problem.received].reduce(0) { $0 + ($1?.utf8.count ?? 0) }
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
                Part(name: part.name.cut(to: 64), expected: part.expected.cut(to: 4096), received: part.received?.cut(to: 4096), state: part.state)
            }
            return problem
        }
        return authentication
    }
}

extension ServedRequest.Plan {
    fileprivate var size: Int { (index?.utf8.count ?? 0) + sentence.utf8.count }
}

extension ServedRequest.ItemError {
    var size: Int { 64 + (name?.utf8.count ?? 0) + reason.utf8.count }

    fileprivate var cut: ServedRequest.ItemError {
        ServedRequest.ItemError(name: name?.cut, code: code, reason: reason.cut(to: 1024))
    }
}

extension ServedRequest.Pull {
    fileprivate var size: Int { sizeWithoutLists + listsSize }

    var sizeWithoutLists: Int { 160 + (zoneID?.size ?? 0) + (sent?.bytes.count ?? 0) + (given?.bytes.count ?? 0) + (error?.size ?? 0) }

    /// About how many bytes the types and fields take that alone were asked for.
    var listsSize: Int {
        [recordTypes, keys].compactMap(\.self).reduce(0) { sum, names in sum + names.reduce(0) { $0 + 40 + $1.utf8.count } }
    }

    fileprivate var cut: ServedRequest.Pull {
        var pull = self
        pull.zoneID = zoneID?.cut
        // No token of ours is as long: what is cut was refused.
        if let sent, sent.bytes.count > 512 { pull.sent = ChangeToken(bytes: Array(sent.bytes.prefix(512))) }
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
    /// Its first bytes, and a sign that there were more.
    fileprivate func cut(to limit: Int) -> String {
        guard utf8.count > limit else { return self }
        return String(decoding: utf8.prefix(limit), as: UTF8.self) + "…"
    }
}
