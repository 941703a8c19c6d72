internal import Accounts
internal import Console
internal import RecordStore
internal import Records
internal import RequestLog

/// The errors of a request: what each means, and what the store knows by now about what was in conflict or missing.
struct RequestErrors {
    /// Errors with one explanation.
    private struct Kind: Hashable {
        let code: ServerErrorCode
        let known: KnownReason?
    }

    /// The errors of queries that the page Query adds an index against.
    private static let missingIndexes: Set<KnownReason> = [
        .recordNameNotQueryable, .notQueryable, .notSortable, .notMarked, .typeNotIndexable,
    ]

    private let request: ServedRequest
    private let visit: Visit
    /// The records that the request saved, by name, as far as the log has its body.
    private let sent: [Name: JSONObject]
    /// The records of conflicts, as they are now.
    private var current: [Name: StoredRecord] = [:]
    /// The zones of the database, if the request named one that it did not have.
    private var zones: [ZoneID] = []

    init(_ request: ServedRequest, sent body: RequestBodies.Body?, _ visit: Visit) async throws {
        (self.request, self.visit) = (request, visit)
        let conflicts = request.itemErrors.filter { $0.code == .conflict }.compactMap(\.name)
        sent = conflicts.isEmpty ? [:] : Self.saves(in: body)
        let lacksZone = ([request.error].compactMap(\.self) + request.itemErrors).contains { $0.known == .zoneNotFound }
        guard lacksZone || !conflicts.isEmpty, let database = try await Self.database(of: request, visit) else {
            return
        }
        // The page is shown without these details if the store can't tell them.
        if lacksZone, let found = try? await visit.measure({ try await database.zones() }) {
            zones = found.map(\.zoneID)
        }
        guard !conflicts.isEmpty, request.zoneIDs.count <= 1 else { return }
        let zoneID = request.zoneIDs.first ?? .default
        let recordIDs = conflicts.map { RecordID(recordName: $0, zoneID: zoneID) }
        guard let found = try? await visit.measure({ try await database.fetch(recordIDs, desiredKeys: []) }) else {
            return
        }
        for case .success(let record) in found { current[record.recordID.recordName] = record }
    }

    /// The database of the request as its user sees it; `nil` if it is in iCloud, or no longer exists.
    private static func database(of request: ServedRequest, _ visit: Visit) async throws -> (any RecordDatabase)? {
        guard let address = request.address, let user = request.userRecordName, !request.isPassedOn,
            visit.shows(request), visit.accounts.connections(of: address.container).isEmpty,
            try await visit.engine.has(address.container, address.environment)
        else { return nil }
        return try? await TokenReader(visit).database(address, of: user)
    }

    private static func saves(in body: RequestBodies.Body?) -> [Name: JSONObject] {
        guard let body, case .object(let object)? = BodyText.value(of: body),
            case .array(let operations)? = object["operations"]
        else { return [:] }
        var saves: [Name: JSONObject] = [:]
        for case .object(let operation) in operations {
            guard case .object(let record)? = operation["record"], case .string(let name)? = record["recordName"] else {
                continue
            }
            saves[Name(name)] = record
        }
        return saves
    }

    // MARK: The whole request

    /// The error of the whole request; `nil` if there is none.
    var whole: RequestView.Failure? {
        request.error.map { error -> RequestView.Failure in
            var parts: [any Component] = []
            if let spelling = spelling(of: error) { parts.append(Paragraph(spelling)) }
            parts += ErrorsView.explanation(ErrorCode.named(error.code.rawValue), error.known)
            return RequestView.Failure(
                code: error.code.rawValue, reason: error.reason, parts: parts,
                lacksIndex: error.known.map { Self.missingIndexes.contains($0) } ?? false)
        }
    }

    // MARK: Items

    /// The items that failed: for each kind of error, those that have it, its cause and its remedy.
    var items: [any Component] {
        if request.itemErrors.isEmpty { return [] }
        var kinds: [Kind] = []
        var errors: [Kind: [ServedRequest.ItemError]] = [:]
        for error in request.itemErrors {
            let kind = Kind(code: error.code, known: error.known)
            if errors[kind] == nil { kinds.append(kind) }
            errors[kind, default: []].append(error)
        }
        let note = Paragraph.faint("The response has status 200: a failed item does not fail the request.")
        var parts: [any Component] = [
            Section("failed", "Items that failed", request.status == 200 ? [note] : [])
        ]
        for (index, kind) in kinds.enumerated() {
            let code = ErrorCode.named(kind.code.rawValue)
            var card: [any Component] = [Listing((errors[kind] ?? []).map(item))]
            if let code { card.insert(Paragraph(ErrorsView.retry(code)), at: 0) }
            card += ErrorsView.explanation(code, kind.known)
            parts.append(
                Section("error-\(index + 1)", Inline(kind.code.rawValue).styled("mono"), style: "errorcard", card))
        }
        return parts
    }

    private func item(_ error: ServedRequest.ItemError) -> Inline {
        let detail = conflict(of: error) ?? spelling(of: error)
        let reason: Inline = detail.map { "\(error.reason). \($0)" } ?? Inline(error.reason)
        guard let recordName = error.name else { return reason }
        let name = recordName.string
        guard areRecords, let there, request.zoneIDs.count <= 1 else {
            return "\(Inline(name).styled("mono")) \(reason)"
        }
        // If the request named one zone, the record is in that zone.
        let href = there.link(toRecord: recordName, in: request.zoneIDs.first ?? .default)
        return "\(.link(name, href, style: "mono")) \(reason)"
    }

    /// True if the items of the request are records.
    private var areRecords: Bool {
        request.operation.hasPrefix("records/") && request.operation != "records/changes"
    }

    /// The database of the request; `nil` if the console does not have it.
    private var there: Place? {
        guard let address = request.address, visit.shows(request) else { return nil }
        return visit.place.with {
            $0.address = address
            $0.user = request.userRecordName.flatMap { visit.people.user($0)?.handle }
        }
    }

    /// The change tag that was sent, and the one that the record has now.
    private func conflict(of error: ServedRequest.ItemError) -> Inline? {
        guard error.code == .conflict, let name = error.name else { return nil }
        var parts: [Inline] = []
        if let saved = sent[name] {
            if case .string(let tag)? = saved["recordChangeTag"] {
                parts.append("You sent the tag \(.code(tag))")
            } else {
                parts.append("You sent no tag")
            }
        }
        if let record = current[name] {
            let modified = record.modified
            parts.append(
                "the current tag is \(.code(record.recordChangeTag)), saved by \(visit.people.name(of: modified.userRecordName))\(modified.onDevice) at \(.time(modified.timestamp))"
            )
        }
        return parts.isEmpty ? nil : .list(parts)
    }

    /// A zone whose name differs in case alone from one that the database did not have.
    private func spelling(of error: ServedRequest.ItemError) -> Inline? {
        guard error.known == .zoneNotFound, let there else { return nil }
        let asked = areRecords || error.name == nil ? request.zoneIDs.map(\.zoneName) : [error.name].compactMap(\.self)
        for name in asked where !zones.contains(where: { $0.zoneName == name }) {
            let folded = name.string.lowercased()
            if let meant = zones.first(where: { $0.zoneName.string.lowercased() == folded }) {
                let link = Inline.link(meant.zoneName.string, there.inZone(meant).link("query"), style: "mono")
                return "Did you mean \(link)? Upper and lower case differ in the name of a zone."
            }
        }
        return nil
    }
}
