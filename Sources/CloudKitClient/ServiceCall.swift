internal import NIOHTTP1
package import Records

/// A request to one of CloudKit's services, before credentials are added.
package struct ServiceCall: Sendable {
    /// The effect of sending a request twice.
    package enum Effect: Sendable, Hashable {
        /// No effect: the request only reads.
        case reads
        /// The request saves. It may only be repeated if it certainly did not arrive.
        case saves
        /// The request saves, but sending it twice has the same effect as sending it once.
        case savesRepeatably
    }

    /// The service, such as `records/query`.
    let action: String
    /// The path and query without credentials.
    let target: String
    let method: HTTPMethod
    /// The body; empty for GET.
    let body: [UInt8]
    package let effect: Effect
    /// The member of the answer that has one item for each item of the request. If all of them failed temporarily, the
    /// request is repeated.
    let items: Name?
    /// Statuses of errors with which the service answers what it was asked for.
    let accepted: Set<Int>

    /// - Parameters:
    ///   - root: the path of the services, with a slash at its end.
    ///   - parameters: the query parameters, not percent-encoded.
    ///   - body: the JSON object of the request, encoded; `nil` for GET.
    package init(
        _ action: String, under root: String, _ effect: Effect = .reads, items: Name? = nil,
        parameters: [(name: String, value: String)] = [],
        body: [UInt8]? = nil, accepting accepted: Set<Int> = []
    ) {
        self.action = action
        self.effect = effect
        self.items = items
        self.accepted = accepted
        self.body = body ?? []
        method = body == nil ? .GET : .POST
        let path =
            root
            + action.split(separator: "/", omittingEmptySubsequences: false).map { PercentEncoding.encoded(String($0)) }
            .joined(separator: "/")
        target = Self.adding(parameters, to: path)
    }

    /// - Parameter members: writes the members of the request's JSON object.
    init(
        _ action: String, under root: String, _ effect: Effect = .reads, items: Name? = nil,
        _ members: (inout JSONWriter) throws(CloudKitFailure) -> Void
    ) throws(CloudKitFailure) {
        var writer = JSONWriter(capacity: 1024)
        try writer.object(members)
        self.init(action, under: root, effect, items: items, body: writer.bytes)
    }

    /// The target with additional query parameters.
    func target(adding secrets: [(name: String, value: Secret)]) -> String {
        Self.adding(secrets.map { ($0.name, $0.value.text) }, to: target)
    }

    /// Adds percent-encoded parameters to a target. Names and values are always encoded, even if they already look
    /// encoded.
    private static func adding(_ parameters: [(name: String, value: String)], to target: String) -> String {
        parameters.reduce(target) { target, parameter in
            let separator = target.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
            return
                "\(target)\(separator)\(PercentEncoding.encoded(parameter.name))=\(PercentEncoding.encoded(parameter.value))"
        }
    }
}

// MARK: - JSON of requests

// Requests as CloudKit documents them (Apple's reference page "Types and Dictionaries").

/// What the server of a request understands.
package enum Dialect: Sendable {
    /// What CloudKit documents.
    case cloudKit
    /// The additional members of Skylight too: zones of single records, who saved a record, names of files.
    case skylight
}

extension JSONWriter {
    /// Writes a set of names. An empty set is written too: it requests none, while a missing member requests all.
    package mutating func member(_ name: Name, _ names: Set<Name>?) {
        guard let names else { return }
        self.name(name)
        array { writer in
            for name in names.sorted() { writer.value(name) }
        }
    }

    mutating func member(resultsLimit: Int?) {
        if let resultsLimit { member("resultsLimit", Int64(resultsLimit)) }
    }

    /// Writes an array with one object for each item.
    mutating func member<Item>(
        _ name: Name, _ items: some Sequence<Item>, _ members: (inout JSONWriter, Item) throws(CloudKitFailure) -> Void
    ) throws(CloudKitFailure) {
        self.name(name)
        try array { (writer: inout JSONWriter) throws(CloudKitFailure) in
            for item in items {
                try writer.object { (writer: inout JSONWriter) throws(CloudKitFailure) in try members(&writer, item) }
            }
        }
    }

    /// Writes an operation of `records/modify`.
    mutating func members(of operation: RecordOperation, in dialect: Dialect) throws(CloudKitFailure) {
        member("operationType", operation.kind.rawValue)
        name("record")
        try object { (writer: inout JSONWriter) throws(CloudKitFailure) in
            if let recordName = operation.recordName { writer.member("recordName", recordName) }
            if dialect == .skylight, let zoneID = operation.zoneID { writer.member(zoneID: zoneID) }
            if let recordType = operation.recordType { writer.member("recordType", recordType) }
            if let tag = operation.recordChangeTag { writer.member("recordChangeTag", tag) }
            // Apple's own client sends deletions without fields.
            if operation.kind.isDeletion { return }
            writer.name("fields")
            try writer.object { (writer: inout JSONWriter) throws(CloudKitFailure) in
                for (name, input) in operation.fields.sorted(by: { $0.key < $1.key }) {
                    writer.name(name)
                    if !input.isFinite { throw .infinite(name, "records/modify", dialect) }
                    writer.value(input.written(in: dialect))
                }
            }
            switch operation.parent {
            case .unchanged: break
            case .cleared:
                writer.name("parent")
                writer.null()
            case .record(let parent):
                writer.name("parent")
                writer.object { writer in
                    writer.member("recordName", parent)
                    if let zoneID = operation.parentZoneID { writer.member(zoneID: zoneID) }
                }
            }
            if operation.createsShortGUID { writer.member("createShortGUID", true) }
            writer.members(of: operation.share.written(in: dialect))
            guard let provenance = operation.provenance else { return }
            writer.name("created")
            writer.value(provenance.created)
            writer.name("modified")
            writer.value(provenance.modified)
            if let shortGUID = provenance.shortGUID { writer.member("shortGUID", shortGUID) }
        }
    }

    /// Writes the members of a request for a page of a query.
    package mutating func members(
        of query: Query, _ dialect: Dialect, in area: DatabaseClient.QueryArea, limit: Int?, bytes: Int?,
        desiredKeys: Set<Name>?, after continuationMarker: String?
    ) throws(CloudKitFailure) {
        let query = try query.written(in: dialect, for: "records/query")
        name("query")
        value(query)
        switch area {
        case .zone(let zoneID): member(zoneID: zoneID)
        case .allZones: member("zoneWide", true)
        }
        member(resultsLimit: limit)
        if let bytes { member("bytesLimit", Int64(bytes)) }
        member("desiredKeys", desiredKeys)
        if let continuationMarker { member("continuationMarker", continuationMarker) }
    }
}

extension CloudKitFailure {
    fileprivate static func infinite(_ field: Name, _ action: String, _ dialect: Dialect) -> CloudKitFailure {
        let reason =
            switch dialect {
            case .cloudKit: "The value of '\(field)' is no finite number, and JSON has no other"
            case .skylight: "Invalid value, expected a number that is finite. Field: '\(field)'"
            }
        return CloudKitFailure(.invalidRequest(reason), action: action)
    }
}

extension Query {
    /// - Throws: ``CloudKitFailure`` if a filter contains a number that JSON cannot represent.
    func written(in dialect: Dialect, for action: String) throws(CloudKitFailure) -> Query {
        var query = self
        for (index, filter) in filters.enumerated() {
            if !filter.value.isFinite || filter.distance?.isFinite == false {
                throw .infinite(filter.fieldName, action, dialect)
            }
            query.filters[index].value = filter.value.written(in: dialect)
        }
        return query
    }
}

extension ZoneID {
    /// The zone ID, without an owner that only stands for the caller.
    var asCloudKitHasIt: ZoneID {
        ZoneID(
            zoneName: zoneName,
            ownerRecordName: ownerRecordName.flatMap { Self.currentOwnerNames.contains($0) ? nil : $0 })
    }
}

extension ShareInput {
    /// The share, for CloudKit without the times at which users accepted.
    fileprivate func written(in dialect: Dialect) -> ShareInput {
        if dialect == .skylight { return self }
        var input = self
        for index in input.participants?.indices ?? 0..<0 { input.participants?[index].accepted = nil }
        return input
    }
}

extension FieldInput {
    /// The value, for CloudKit without members that it does not have, and without zone owners that only stand for the
    /// caller.
    fileprivate func written(in dialect: Dialect) -> FieldInput {
        switch self {
        case _ where dialect == .skylight: self
        case .cleared: .cleared
        case .tagged(let value, let type, let isEncrypted):
            .tagged(value.asCloudKitHasIt, type, isEncrypted: isEncrypted)
        case .untagged(let value, let isEncrypted): .untagged(value.asCloudKitHasIt, isEncrypted: isEncrypted)
        }
    }
}

extension FieldValue {
    fileprivate var asCloudKitHasIt: FieldValue {
        switch self {
        case .asset(var asset):
            asset.fileName = nil
            return .asset(asset)
        case .reference(var reference):
            reference.zoneID = reference.zoneID?.asCloudKitHasIt
            return .reference(reference)
        case .list(let elements, let type): return .list(elements.map(\.asCloudKitHasIt), of: type)
        default: return self
        }
    }
}
