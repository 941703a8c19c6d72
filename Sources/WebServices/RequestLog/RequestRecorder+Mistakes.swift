internal import RecordStore
internal import Records
internal import RequestLog

// Logs what the log needs to find the mistakes of clients. It reads values that services have parsed anyway.

extension RequestRecorder {
    /// The maximum number of names in the log for one mistake.
    private static let namesLimit = 8

    /// Logs a query.
    /// - Parameter limit: the number of records that the client asked for; `nil` if it left that to the server.
    func queried(_ request: QueryRequest, limit: Int?) {
        var hasher = Hasher()
        hasher.combine(request.query)
        hasher.combine(request.area)
        hasher.combine(request.desiredKeys)
        let hash = limit ?? RequestObject.pageLimit < RequestObject.pageLimit ? nil : hasher.finalize()
        let seconds = request.query.filters.filter { filter in
            if filter.value.isLikeSeconds { return true }
            return SystemField(named: filter.fieldName)?.type == .timestamp && filter.value.mayBeSeconds
        }
        update { $0.query = hash }
        note(.timestampInSeconds, about: seconds.map(\.fieldName))
    }

    /// Logs the saves of a request with their outcomes.
    func saved(_ operations: [RecordOperation], _ outcomes: [Result<ModifyOutcome, RecordError>], in zoneID: ZoneID) {
        var refusals: [ServedRequest.Refusal] = []
        var seconds: [Name] = []
        for (operation, outcome) in zip(operations, outcomes) {
            for (name, value) in operation.fields where value.mayBeSeconds {
                // If the request has no type, the type of the stored field decides.
                if value.isLikeSeconds || outcome.hasTimestamp(name) { seconds.append(name) }
            }
            guard case .failure(let error) = outcome, refusals.count < ServedRequest.refusalLimit else { continue }
            let refusal = ServedRequest.Refusal(
                error, recordName: operation.recordName, zoneID: operation.zoneID ?? zoneID,
                recordChangeTag: operation.recordChangeTag)
            if let refusal { refusals.append(refusal) }
        }
        if !refusals.isEmpty { update { [refusals] in $0.refusals = refusals } }
        note(.timestampInSeconds, about: seconds)
    }

    /// Logs requested fields that the schema does not have. Reads the schema only if the same fields were not found
    /// right before.
    /// - Parameter recordType: `nil` for any type.
    /// - Throws: `BriefWork.TooLong`.
    func checkDesiredKeys(_ keys: Set<Name>?, of recordType: Name? = nil, in database: any RecordDatabase) async throws
    {
        guard let keys, !keys.isEmpty, database.can(.showSchema) else { return }
        var hasher = Hasher()
        hasher.combine(database.address)
        hasher.combine(recordType)
        hasher.combine(keys)
        let hash = hasher.finalize()
        guard !log.knowsKeys(hash) else { return }
        let types: [Name: RecordType]
        do {
            types = try await database.require(.showSchema).schema().types
        } catch let error as BriefWork.TooLong {
            throw error
        } catch {
            // The request itself reports what keeps the schema from being read.
            return
        }
        if let recordType, types[recordType] == nil { return }
        let fields = recordType.flatMap { types[$0] }.map { [$0] } ?? Array(types.values)
        let unknown = keys.filter { key in
            SystemField(named: key) == nil && !key.hasPrefix("cloudkit.") && !fields.contains { $0.fields[key] != nil }
        }
        if unknown.isEmpty { log.learnKeys(hash) } else { note(.unknownDesiredKeys, about: Array(unknown)) }
    }

    private func note(_ mistake: RequestWarning, about names: [Name]) {
        if names.isEmpty { return }
        let names = Set(names).sorted()
        let words = names.prefix(Self.namesLimit).map(\.string).joined(separator: ", ")
        update {
            $0.mistakes[mistake] =
                names.count > Self.namesLimit ? "\(words) and \(names.count - Self.namesLimit) more" : words
        }
    }
}

extension FieldInput {
    /// Milliseconds in January to April 1970. Interpreted as seconds since 1970 or 2001, they are dates from 1973 on.
    private static let suspects: Range<Int64> = 100_000_000..<10_000_000_000

    /// True for a time in that range.
    fileprivate var isLikeSeconds: Bool {
        if case .tagged(let value, _, _) = self { value.elements.contains(where: Self.isSuspect) } else { false }
    }

    /// True for a time or a number in that range.
    fileprivate var mayBeSeconds: Bool {
        switch self {
        case .tagged: isLikeSeconds
        case .untagged(.int64(let number), _): Self.suspects.contains(number)
        case .untagged, .cleared: false
        }
    }

    private static func isSuspect(_ value: FieldValue) -> Bool {
        if case .timestamp(let time) = value { suspects.contains(time.milliseconds) } else { false }
    }
}

extension Result<ModifyOutcome, RecordError> {
    /// True if a record was saved and its field is a time.
    fileprivate func hasTimestamp(_ name: Name) -> Bool {
        guard case .success(.saved(let record)) = self, case .timestamp? = try? record.fields.values(of: [name])[name]
        else { return false }
        return true
    }
}
