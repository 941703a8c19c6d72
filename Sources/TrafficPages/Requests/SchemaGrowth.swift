internal import Console
internal import JSON
internal import RecordStore
internal import Records
internal import Traffic

/// The types and fields that requests created in development by naming them in a save. The schema history knows the moment of each, and the log
/// the request that was being answered then.
struct SchemaGrowth {
    private let entries: [SchemaHistoryEntry]
    private let log: RequestLog

    /// The number of schema changes that are searched.
    private static let searched = 200

    init(of requests: [ServedRequest], _ visit: Visit) async throws {
        log = visit.log
        var address = visit.place.address
        address.environment = .development
        guard visit.connection == nil, visit.database.can(.showSchema), requests.contains(where: { $0.isSave(in: address.container) }) else {
            entries = []
            return
        }
        let (engine, caller) = (visit.engine, visit.database.caller)
        entries = try await visit.measure { [address] in
            try await engine.database(address, as: caller).schemaHistory(before: nil, limit: Self.searched)
        }.filter { $0.reason == .save }
    }

    /// The mark of a request that created something; `nil` for all others.
    func mark(of request: ServedRequest, in container: ContainerID) -> WarningView? {
        guard !entries.isEmpty, request.isSave(in: container) else { return nil }
        let end = request.started.milliseconds + Int64(request.milliseconds.rounded(.up))
        let lines = entries.filter { entry in
            entry.timestamp >= request.started && entry.timestamp.milliseconds <= end && entry.userRecordName == request.userRecordName
        }.flatMap(\.changes).filter { $0.hasSuffix(" added") || $0.contains(": type added") }
        // Another request of the same user may have been answered at the same time, so the answer has to name the type.
        let answer = lines.isEmpty ? nil : log.bodies(of: request.id)?.response
        let own = lines.filter { line in
            guard let answer, !answer.isCut else { return true }
            var writer = JSONWriter()
            writer.value(line.prefix { $0 != ":" }.description)
            return answer.bytes.holds(Array("\"recordType\":".utf8) + writer.bytes)
        }
        return own.isEmpty ? nil : WarningView(created: own)
    }
}

extension ServedRequest {
    /// True if the request saved records in development.
    fileprivate func isSave(in container: ContainerID) -> Bool {
        self.container == container && environment == .development && status == 200 && operation.hasSuffix("records/modify")
    }
}

extension WarningView {
    /// - Parameter lines: the lines of the schema history, such as `Note: type added with 1 field: 'title' STRING`.
    fileprivate init(created lines: [String]) {
        let types = lines.filter { $0.contains(": type added") }
        let names = types.map { String($0.prefix { $0 != ":" }) }
        let inside = types.reduce(0) { sum, line in sum + (line.firstRange(of: " with ").flatMap { Int(line[$0.upperBound...].prefix { $0.isNumber }) } ?? 0) }
        let fields = lines.count - types.count + inside
        let shown = names.prefix(2).joined(separator: ", ") + (names.count > 2 ? " and \(names.count - 2) more" : "")
        let parts = [names.isEmpty ? nil : "\(names.count == 1 ? "record type" : "record types") \(shown)", fields == 0 ? nil : Digits.count(fields, "field")]
        self.init(
            word: "created \(parts.compactMap(\.self).joined(separator: " and "))",
            sentence: "The save named what the schema did not have, and development created it: \(lines.joined(separator: "; ")). "
                + "A misspelt name creates a type or field, too. Delete it on the page Types before you deploy the schema.",
            count: nil)
    }
}
