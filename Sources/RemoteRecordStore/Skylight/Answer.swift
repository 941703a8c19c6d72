internal import RecordStore
internal import Records

/// An object in an answer. Members are decoded on access. The fields of records are never decoded.
struct Answer {
    private let members: [(name: Name, value: ArraySlice<UInt8>)]
    /// The address of the server.
    private let address: String

    /// - Throws: `JSONError` if the text is not an object.
    init(_ text: ArraySlice<UInt8>, from address: String) throws(JSONError) {
        members = try JSONReader.memberSlices(of: text)
        self.address = address
    }

    /// The error of the answer or of an item; `nil` if there is none.
    var error: RecordError? {
        // A member of another type is not an error of the protocol.
        guard let name = try? optionalString("serverErrorCode") else { return nil }
        let reason = (try? optionalString("reason")) ?? nil
        // An unknown code is treated as a server error, not as an error of the caller.
        let code = ServerErrorCode(rawValue: name) ?? .internalError
        return RecordError(code, reason ?? name, retryAfter: (try? integer("retryAfter")).map { Int($0) })
    }

    // MARK: Members

    /// The whole object, decoded.
    func object() throws -> RequestObject {
        RequestObject(
            JSONObject(
                try members.compactMap { member in
                    try value(member.name).map { JSONObject.Member(name: member.name, value: $0) }
                }))
    }

    /// Reads the whole object.
    /// - Throws: `RecordError` INTERNAL_ERROR that says which member is not as expected.
    func read<Value>(_ body: (RequestObject) throws -> Value) throws -> Value {
        let object = try object()
        do { return try body(object) } catch let error as RecordError { throw unexpected(error) }
    }

    func has(_ name: Name) -> Bool { text(name) != nil }

    /// The JSON of a member, not decoded; `nil` if there is none.
    func text(_ name: Name) -> ArraySlice<UInt8>? {
        members.first { $0.name == name }?.value
    }

    /// All members as integers, by name.
    func integers() throws -> [Name: Int64] {
        try Dictionary(members.map { ($0.name, try integer($0.name)) }, uniquingKeysWith: { first, _ in first })
    }

    func value(_ name: Name) throws -> JSONValue? {
        guard let text = text(name) else { return nil }
        do {
            return try JSONReader.value(of: text)
        } catch {
            throw unexpected("JSON in '\(name)'")
        }
    }

    func optionalString(_ name: Name) throws -> String? {
        switch try value(name) {
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
        guard case .integer(let integer)? = try value(name) else { throw unexpected("a whole number '\(name)'") }
        return integer
    }

    func timestamp(_ name: Name) throws -> Timestamp { Timestamp(milliseconds: try integer(name)) }

    func optionalTimestamp(_ name: Name) throws -> Timestamp? { has(name) ? try timestamp(name) : nil }

    func bool(_ name: Name) throws -> Bool {
        guard case .bool(let bool)? = try value(name) else { throw unexpected("'\(name)' to be true or false") }
        return bool
    }

    func optionalObject(_ name: Name) throws -> Answer? {
        guard let text = text(name) else { return nil }
        do {
            return try Answer(text, from: address)
        } catch {
            throw unexpected("'\(name)' to be an object")
        }
    }

    func object(_ name: Name) throws -> Answer {
        guard let object = try optionalObject(name) else { throw unexpected("an object '\(name)'") }
        return object
    }

    func array(_ name: Name) throws -> [Answer] {
        guard let text = text(name) else { throw unexpected("an array '\(name)'") }
        do {
            return try JSONReader.elementSlices(of: text).map { try Answer($0, from: address) }
        } catch {
            throw unexpected("'\(name)' to be an array of objects")
        }
    }

    func strings(_ name: Name) throws -> [String] {
        guard case .array(let elements)? = try value(name) else { throw unexpected("an array '\(name)'") }
        return try elements.map { element in
            guard case .string(let string) = element else { throw unexpected("strings in '\(name)'") }
            return string
        }
    }

    /// The error for an answer in an unexpected format.
    func unexpected(_ what: String) -> RecordError {
        RecordError(
            .internalError, "The server at \(address) is not a Skylight, or has another version: expected \(what)")
    }

    private func unexpected(_ error: RecordError) -> RecordError {
        RecordError(
            .internalError, "The server at \(address) is not a Skylight, or has another version: \(error.reason)")
    }
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

    func zone() throws -> Zone {
        Zone(zoneID: try zoneID(), syncToken: try optionalToken(), atomic: try bool("atomic"))
    }

    /// A record. Keeps the text of its fields unchanged, except that it removes the
    /// download addresses of assets, which expire and are not part of a stored record.
    func record() throws -> StoredRecord {
        var fields = text("fields").map { FieldsText(bytes: Array($0)) } ?? .empty
        if fields.mayHoldAssets { fields = FieldsText(try fields.decoded()) }
        return StoredRecord(
            recordID: RecordID(recordName: try name("recordName"), zoneID: try zoneID()),
            recordType: try name("recordType"),
            recordChangeTag: try string("recordChangeTag"), created: try object("created").signature(),
            modified: try object("modified").signature(), parent: try optionalObject("parent")?.name("recordName"),
            fields: fields, sharing: try sharing())
    }

    /// The sharing information of a record. The server does not send the numbers of hierarchies.
    private func sharing() throws -> RecordSharing? {
        let members = try ["shortGUID", "share", "publicPermission", "participants", "rootRecordName"].compactMap {
            (name: Name) in
            try value(name).map { JSONObject.Member(name: name, value: $0) }
        }
        return members.isEmpty ? nil : try RecordSharing(JSONObject(members))
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
            standing: try standing(), changesAfter: has("changesAfter") ? Int(try integer("changesAfter")) : nil)
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

    private func standing() throws -> TokenExplanation.Standing {
        switch try string("standing") {
        case "good": .good
        case "expired": .expired(why: try string("why"))
        case "foreign": .foreign(why: try string("why"))
        default: throw unexpected("a standing that is known")
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
        guard let standing = QueryExplanation.Standing(rawValue: try string("standing")) else {
            throw unexpected("a standing that is known")
        }
        return QueryExplanation.Candidate(
            index: try object("index").queryIndex(), clause: try string("clause"), standing: standing,
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
        guard let value = try value("fieldValue") else { throw unexpected("a value 'fieldValue'") }
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
        switch try value(name) {
        case .double(let double)?: return double
        case .integer(let integer)?: return Double(integer)
        default: throw unexpected("a number '\(name)'")
        }
    }
}
