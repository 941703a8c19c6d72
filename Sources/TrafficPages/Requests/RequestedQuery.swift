internal import Accounts
package import Console
package import Records
internal import RequestLog

/// The query of a request in the log.
package struct RequestedQuery {
    private static let operations: Set<String> = ["records/query", "skylight/records/query"]

    package let query: Query
    /// `nil` for the default zone.
    let zoneID: ZoneID?
    let isZoneWide: Bool
    private let address: DatabaseAddress
    private let userRecordName: Name?

    /// - Throws: `RecordError` NOT_FOUND if the log does not have the query of the request that the address names.
    package init(_ visit: Visit) throws {
        guard let id = visit.fields.text("id"), let request = visit.log.request(id),
            let asked = RequestedQuery(request, body: visit.log.bodies(of: request.id)?.request)
        else { throw RecordError(.notFound, "The log no longer has the query of this request") }
        self = asked
    }

    /// - Returns: `nil` for a request of another service or one that iCloud answered, with a truncated body, or without a
    ///   valid query.
    init?(_ request: ServedRequest, body: RequestBodies.Body?) {
        guard !request.isPassedOn, Self.operations.contains(request.operation), let address = request.address, let body,
            !body.isCut,
            case .object(let object)? = BodyText.value(of: body), case .object(let asked)? = object["query"],
            case .string(let recordType)? = asked["recordType"], let query = Query(asked, of: Name(recordType))
        else { return nil }
        self.query = query
        self.address = address
        userRecordName = request.userRecordName
        zoneID = object.zoneID
        isZoneWide = object["zoneWide"] == .bool(true) && zoneID == nil
    }

    /// The type of the records, because the text of values depends on the types of their fields; `nil` for a query in
    /// another environment, whose schema the page does not have.
    package func type(_ visit: Visit) -> RecordType? {
        let isHere =
            address.container == visit.place.address.container && address.environment == visit.place.address.environment
        return isHere ? visit.schema?.types[query.recordType] : nil
    }

    /// The address of Query or Explain about the query, in its own database and as its own user.
    /// - Parameter form: the fields of the query's form; `nil` if the form can't express the query.
    /// - Throws: `RecordError` BAD_REQUEST if the form can't express the query; NOT_FOUND if the user no longer exists.
    package func address(_ visit: Visit, form parameters: [(name: String, value: String)]?) throws -> String {
        guard let parameters else {
            throw RecordError(
                .badRequest, "The query form can't show this query: it has too many clauses, or compares with no value")
        }
        let user = try handle(visit)
        let there = visit.place.with {
            $0.address = address
            $0.user = user
            $0.zone = isZoneWide ? .all : .unspecified
        }
        let page = visit.fields["on"] == "query" ? "query" : "explain"
        return (isZoneWide ? there : there.inZone(zoneID ?? .default)).link(page, parameters)
    }

    /// The user of the explanation; `nil` for the developer.
    private func handle(_ visit: Visit) throws -> String? {
        // A request that was refused before authentication used no database. In the public database, all users see the
        // same records.
        guard let userRecordName else { return visit.place.user }
        guard let user = visit.people.user(userRecordName) else {
            if address.scope == .public { return nil }
            throw RecordError(
                .notFound, "The query was sent as the user \(userRecordName), who no longer exists on this server")
        }
        return user.handle == User.developerHandle ? nil : user.handle
    }
}

extension Query {
    /// - Returns: `nil` if a clause does not follow the protocol.
    fileprivate init?(_ object: JSONObject, of recordType: Name) {
        self.init(recordType: recordType)
        for case .object(let clause) in object.objects("filterBy") {
            guard let field = clause.fieldName, case .string(let word)? = clause["comparator"],
                let comparator = Comparator(rawValue: word),
                let value = clause["fieldValue"].flatMap({ try? FieldInput($0, field: field) })
            else { return nil }
            filters.append(Query.Filter(field, comparator, value, distance: clause.number("distance")))
        }
        for case .object(let clause) in object.objects("sortBy") {
            guard let field = clause.fieldName else { return nil }
            let origin = clause["relativeLocation"].flatMap {
                try? FieldInput($0, field: field).value(declared: .location)
            }
            let location: Location? = if case .location(let location)? = origin { location } else { nil }
            sorts.append(Query.Sort(field, ascending: clause["ascending"] != .bool(false), relativeLocation: location))
        }
    }
}

extension JSONObject {
    fileprivate func objects(_ name: Name) -> [JSONValue] {
        if case .array(let elements)? = self[name] { elements } else { [] }
    }

    fileprivate func number(_ name: Name) -> Double? {
        switch self[name] {
        case .integer(let integer)?: Double(integer)
        case .double(let double)?: double
        default: nil
        }
    }

    /// The field of a clause, either custom or a system field.
    fileprivate var fieldName: Name? {
        if case .string(let name)? = self["fieldName"] { return Name(name) }
        guard case .string(let name)? = self["systemFieldName"] else { return nil }
        return SystemField(named: Name(name))?.schemaName
    }

    fileprivate var zoneID: ZoneID? {
        guard case .object(let zone)? = self["zoneID"], case .string(let name)? = zone["zoneName"] else { return nil }
        guard case .string(let owner)? = zone["ownerRecordName"] else { return ZoneID(zoneName: Name(name)) }
        return ZoneID(zoneName: Name(name), ownerRecordName: Name(owner))
    }
}
