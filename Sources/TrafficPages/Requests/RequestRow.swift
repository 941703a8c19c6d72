internal import Console
internal import JSON
internal import Records
internal import Traffic

/// A row of the request table.
struct RequestRow: ViewModel {
    let href: String
    let iso: String
    /// The time in UTC, without the date if it is today.
    let time: String
    let operation: String
    let status: String
    /// `good`, `warn` or `bad`.
    let tone: String
    let errors: String?
    let warnings: [WarningView]
    /// The reason why the credentials were refused, in a few words and in a sentence.
    let refusedFor: String?
    let refusal: String?
    let isFailed: Bool
    let user: String
    let client: String
    let clientDetails: String
    let database: String
    let zones: String
    /// The index that a query used.
    let index: String?
    let indexDetails: String?
    let milliseconds: String
    let records: String
    let bytesIn: String
    let bytesOut: String

    init(_ request: ServedRequest, _ growth: SchemaGrowth, at now: Timestamp, visit: Visit) {
        href = visit.place.link("requests", [("id", request.id)])
        iso = request.started.isoText
        let text = request.started.utcText
        time = text.prefix(10) == now.utcText.prefix(10) ? String(text.dropFirst(11)) : text
        operation = request.operation
        status = request.statusWords
        tone = request.tone
        errors = request.errorWords
        warnings = request.warnings.map { WarningView($0) } + [growth.mark(of: request, in: visit.place.address.container)].compactMap(\.self)
        refusedFor = request.authentication?.problemWords
        refusal = request.authentication?.problem?.sentence
        isFailed = request.hasErrors
        user = request.userRecordName.map(visit.people.name) ?? "–"
        client = request.client.label
        clientDetails = request.client.details ?? "The client sent no details"
        database = request.address.map { visit.place.words(for: $0) } ?? request.container?.description ?? "–"
        zones = request.zoneWords
        index = request.plan.map { $0.index ?? "none" }
        indexDetails = request.plan?.sentence
        milliseconds = "\(Duration.milliseconds(request.milliseconds).millisecondsText) ms"
        records = request.records == 0 ? "" : Digits.grouped(request.records)
        bytesIn = Self.bytes(request.bytesIn)
        bytesOut = Self.bytes(request.bytesOut)
    }

    /// A short size, because the table has many columns.
    private static func bytes(_ count: Int) -> String {
        count == 0 ? "" : count < 1000 ? "\(count) B" : Digits.bytes(Int64(count))
    }

    func child(named name: String) -> Any? {
        switch name {
        case "href": href
        case "iso": iso
        case "time": time
        case "operation": operation
        case "status": status
        case "tone": tone
        case "errors": errors ?? Absent()
        case "warnings": warnings
        case "refusedFor": refusedFor ?? Absent()
        case "refusal": refusal ?? Absent()
        case "isFailed": isFailed
        case "user": user
        case "client": client
        case "clientDetails": clientDetails
        case "database": database
        case "zones": zones
        case "index": index ?? Absent()
        case "indexDetails": indexDetails ?? Absent()
        case "milliseconds": milliseconds
        case "records": records
        case "bytesIn": bytesIn
        case "bytesOut": bytesOut
        default: nil
        }
    }
}

extension ServedRequest {
    /// The first zones by name.
    var zoneWords: String {
        if zoneIDs.isEmpty { return "" }
        let shown = zoneIDs.prefix(2).map { $0.isDefault ? "default" : $0.zoneName.string }.joined(separator: ", ")
        return zoneIDs.count > 2 ? "\(shown) and \(zoneIDs.count - 2) more" : shown
    }
}

extension Place {
    /// A database, described by its differences from the current one.
    func words(for other: DatabaseAddress) -> String {
        var parts = [other.scope.rawValue]
        if other.environment != address.environment { parts.append(other.environment.rawValue) }
        if other.container != address.container { parts.append(other.container.description) }
        return parts.joined(separator: ", ")
    }
}
