internal import CloudKitClient
internal import RecordStore
internal import Records

/// An object in an answer of a Skylight, with strict accessors to its members.
struct Answer {
    private let members: JSONObject
    private let server: ServerClient

    init(_ members: JSONObject, from server: ServerClient) {
        (self.members, self.server) = (members, server)
    }

    /// The error of the answer or of an item; `nil` if there is none.
    var error: RecordError? { ServerError(members).map(server.error) }

    // MARK: Members

    /// The whole object.
    func object() -> RequestObject { RequestObject(members) }

    /// Reads the whole object.
    /// - Throws: `RecordError` INTERNAL_ERROR that says which member is not as expected.
    func read<Value>(_ body: (RequestObject) throws -> Value) throws -> Value {
        do { return try body(object()) } catch let error as RecordError {
            throw server.unexpected(saying: error.reason)
        }
    }

    func has(_ name: Name) -> Bool { members[name] != nil }

    /// All members as integers, by name.
    func integers() throws -> [Name: Int64] {
        try Dictionary(members.map { ($0.name, try integer($0.name)) }, uniquingKeysWith: { first, _ in first })
    }

    func value(_ name: Name) -> JSONValue? { members[name] }

    func optionalString(_ name: Name) throws -> String? {
        switch value(name) {
        case nil, .null?: nil
        case .string(let string)?: string
        case .some: throw unexpected("'\(name)' to be a string")
        }
    }

    func string(_ name: Name) throws -> String {
        guard let string = try optionalString(name) else { throw unexpected("a string '\(name)'") }
        return string
    }

    func name(_ name: Name) throws -> Name { Name(try string(name)) }

    func integer(_ name: Name) throws -> Int64 {
        guard case .integer(let integer)? = value(name) else { throw unexpected("a whole number '\(name)'") }
        return integer
    }

    func timestamp(_ name: Name) throws -> Timestamp { Timestamp(milliseconds: try integer(name)) }

    func optionalTimestamp(_ name: Name) throws -> Timestamp? { has(name) ? try timestamp(name) : nil }

    func bool(_ name: Name) throws -> Bool {
        guard case .bool(let bool)? = value(name) else { throw unexpected("'\(name)' to be true or false") }
        return bool
    }

    func optionalObject(_ name: Name) throws -> Answer? {
        guard let value = value(name) else { return nil }
        guard case .object(let members) = value else { throw unexpected("'\(name)' to be an object") }
        return Answer(members, from: server)
    }

    func object(_ name: Name) throws -> Answer {
        guard let object = try optionalObject(name) else { throw unexpected("an object '\(name)'") }
        return object
    }

    func array(_ name: Name) throws -> [Answer] {
        guard case .array(let elements)? = value(name) else { throw unexpected("an array '\(name)'") }
        return try elements.map { element in
            guard case .object(let members) = element else { throw unexpected("'\(name)' to be an array of objects") }
            return Answer(members, from: server)
        }
    }

    func strings(_ name: Name) throws -> [String] {
        guard case .array(let elements)? = value(name) else { throw unexpected("an array '\(name)'") }
        return try elements.map { element in
            guard case .string(let string) = element else { throw unexpected("strings in '\(name)'") }
            return string
        }
    }

    /// The error for an answer in an unexpected format.
    func unexpected(_ what: String) -> RecordError { server.unexpected(what) }
}

// MARK: - Records

// Decoding of the protocol's types (Apple's reference page "Types and Dictionaries", and docs/services.md).

extension Answer {
    func zoneID() throws -> ZoneID {
        let zone = try object("zoneID")
        return ZoneID(
            zoneName: try zone.name("zoneName"),
            ownerRecordName: try zone.optionalString("ownerRecordName").map { Name($0) })
    }

    func token() throws -> ChangeToken { ChangeToken(text: try string("syncToken")) }

    func optionalToken() throws -> ChangeToken? {
        try optionalString("syncToken").map { ChangeToken(text: $0) }
    }

    func record() throws -> StoredRecord {
        do {
            return try StoredRecord(ReceivedRecord(members, in: zoneID()))
        } catch let shape as UnexpectedShape {
            throw unexpected(shape.expected)
        } catch let lack as RecordLack {
            throw unexpected(lack.expected)
        }
    }

    func signature() throws -> Signature {
        Signature(
            timestamp: try timestamp("timestamp"), userRecordName: try name("userRecordName"),
            deviceID: try string("deviceID"))
    }

    func change() throws -> RecordChange {
        let kind = try optionalString("change").map { text in
            guard let kind = RecordChange.Kind(rawValue: text) else {
                throw unexpected("a kind of change that is known")
            }
            return kind
        }
        let (position, record) = (has("position") ? try integer("position") : nil, try object("record"))
        if kind == .deleted, !record.has("recordType") {
            return RecordChange(
                deletionOf: RecordID(recordName: try record.name("recordName"), zoneID: try record.zoneID()),
                position: position)
        }
        return RecordChange(kind: kind, position: position, record: try record.record())
    }

    func zoneChange() throws -> ZoneChange {
        guard let kind = ZoneChange.Kind(rawValue: try string("change")) else {
            throw unexpected("a kind of change that is known")
        }
        return ZoneChange(
            zoneID: try zoneID(), kind: kind, timestamp: try optionalTimestamp("timestamp"),
            syncToken: try optionalToken())
    }

    func referrer() throws -> Referrer {
        guard let action = Reference.Action(rawValue: try string("action")) else {
            throw unexpected("an action that is known")
        }
        return Referrer(
            recordName: try name("recordName"), recordType: try name("recordType"), fieldName: try name("fieldName"),
            action: action)
    }

    func explanation() throws -> TokenExplanation {
        guard let scope = DatabaseScope(rawValue: try string("database")) else {
            throw unexpected("a database that is known")
        }
        return TokenExplanation(
            subject: try string("subject") == "database" ? .database : .zone(has("zoneID") ? try zoneID() : nil),
            scope: scope,
            userRecordName: try optionalString("userRecordName").map { Name($0) }, position: try integer("position"),
            moment: try optionalTimestamp("timestamp"), progress: try progress(),
            validity: try validity(), changesAfter: has("changesAfter") ? Int(try integer("changesAfter")) : nil)
    }

    private func progress() throws -> TokenExplanation.Progress {
        switch try string("progress") {
        case "complete": .complete
        case "firstPull": .firstPull
        case "reversePull": .reversePull
        case "pull": .pull(since: try integer("since"))
        default: throw unexpected("a progress that is known")
        }
    }

    private func validity() throws -> TokenExplanation.Validity {
        switch try string("standing") {
        case "good": .good
        case "expired": .expired(why: try string("why"))
        case "foreign": .foreign(why: try string("why"))
        default: throw unexpected("a standing that is known")
        }
    }
}

extension RecordLack {
    /// What should have been there.
    var expected: String {
        switch self {
        case .member(let name, _, _): "'\(name)' of a record"
        case .value(let name, _, let recordName): "a value that is known in the field '\(name)' of '\(recordName)'"
        }
    }
}

// MARK: - Queries

// Decoding of query answers (docs/services.md).

extension Answer {
    func queryExplanation() throws -> QueryExplanation {
        QueryExplanation(
            problems: try array("problems").map { try $0.queryProblem() },
            candidates: try array("candidates").map { try $0.candidate() },
            summary: try string("summary"), entriesRead: Int(try integer("entriesRead")),
            recordsRead: Int(try integer("recordsRead")),
            recordsReturned: Int(try integer("recordsReturned")), hasMore: try bool("moreComing"),
            milliseconds: try double("milliseconds"),
            statements: try array("statements").map {
                QueryExplanation.Statement(text: try $0.string("text"), plan: try $0.strings("plan"))
            },
            advice: try array("advice").map { try $0.compositeIndex() })
    }

    private func candidate() throws -> QueryExplanation.Candidate {
        guard let use = QueryExplanation.IndexUse(rawValue: try string("standing")) else {
            throw unexpected("a standing that is known")
        }
        return QueryExplanation.Candidate(
            index: try object("index").queryIndex(), clause: try string("clause"), use: use,
            reason: try string("reason"),
            entries: has("entries") ? Int(try integer("entries")) : nil,
            isCutOff: has("orMore") ? try bool("orMore") : false)
    }

    private func queryIndex() throws -> QueryIndex {
        if has("recordNames") { return .recordNames }
        return has("filter") ? .composite(try compositeIndex()) : .field(try fieldKey(), try indexes())
    }

    private func queryProblem() throws -> QueryProblem {
        switch try string("problem") {
        case "SYSTEM_TYPE": return .systemType
        case "UNKNOWN_TYPE": return .unknownType(try name("recordType"))
        case "NO_INDEX": return .noIndex(try name("recordType"))
        case "UNKNOWN_FIELD": return .unknownField(try name("field"))
        case "MISSING_INDEX": return .missingIndex(try fieldKey(), try indexes(), word: try string("word"))
        case "INDEX_BEING_BUILT":
            return .indexBeingBuilt(try fieldKey(), try indexes(), percent: Int(try integer("percent")))
        case "INVALID":
            guard let error else { throw unexpected("an error") }
            return .invalid(error)
        default: throw unexpected("a problem that is known")
        }
    }

    func queryStatistics() throws -> QueryStatistics {
        QueryStatistics(
            since: try timestamp("since"), queries: Int(try integer("queries")),
            uses: try array("uses").map { try $0.indexUse() },
            refusals: try array("refusals").map { try $0.refusal() })
    }

    private func indexUse() throws -> QueryStatistics.Use {
        QueryStatistics.Use(
            recordType: try name("recordType"), index: try object("index").queryIndex(),
            count: Int(try integer("count")),
            last: try timestamp("last"))
    }

    private func refusal() throws -> QueryStatistics.Refusal {
        QueryStatistics.Refusal(
            query: try object("query").query(), problems: try array("problems").map { try $0.queryProblem() },
            count: Int(try integer("count")),
            last: try timestamp("last"), userRecordName: try name("userRecordName"))
    }

    private func query() throws -> Query {
        Query(
            recordType: try name("recordType"), filters: try array("filterBy").map { try $0.filter() },
            sorts: try array("sortBy").map { try $0.sort() })
    }

    private func filter() throws -> Query.Filter {
        guard let comparator = Comparator(rawValue: try string("comparator")) else {
            throw unexpected("a comparator that is known")
        }
        let fieldName = try name("fieldName")
        guard let value = value("fieldValue") else { throw unexpected("a value 'fieldValue'") }
        return Query.Filter(
            fieldName, comparator, try FieldInput(value, field: fieldName),
            distance: has("distance") ? try double("distance") : nil)
    }

    private func sort() throws -> Query.Sort {
        let fieldName = try name("fieldName")
        let input = try value("relativeLocation").map { try FieldInput($0, field: fieldName) }
        let location: Location? =
            if case .location(let location)? = input?.value(declared: .location) { location } else { nil }
        return Query.Sort(fieldName, ascending: try bool("ascending"), relativeLocation: location)
    }

    private func double(_ name: Name) throws -> Double {
        switch value(name) {
        case .double(let double)?: return double
        case .integer(let integer)?: return Double(integer)
        default: throw unexpected("a number '\(name)'")
        }
    }
}
