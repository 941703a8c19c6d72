internal import Accounts
internal import JSON
internal import RecordStore
internal import Records

/// A query as clients write it: in Swift, in CloudKit JS, and as a request to the web services.
struct QueryCode: ViewModel {
    let swift: String
    let javaScript: String
    /// The path of the request; the page puts the address before it.
    let path: String
    /// What follows the address in the command line: headers and body.
    let request: String

    init(_ plan: QueryPlan, form: QueryForm, type: RecordType?, visit: Visit) {
        let place = visit.place
        let query = plan.query
        let keys: [Name]? = form.returnsSystemFieldsOnly ? [] : form.keys.isEmpty ? nil : form.keys
        let zoneID: ZoneID? = if case .zone(let zoneID) = visit.queryArea { zoneID } else { nil }
        swift = SwiftQueryCode(query, type: type, in: place.address, zoneID: zoneID, keys: keys, limit: form.limit).text
        let json = Self.json(query, type: type)
        var options: [JSONObject.Member] = []
        if let zoneID {
            if !zoneID.isDefault || place.address.scope == .shared {
                var zone: [JSONObject.Member] = [JSONObject.Member(name: "zoneName", value: .string(zoneID.zoneName.string))]
                if place.address.scope == .shared, let owner = zoneID.ownerRecordName {
                    zone.append(JSONObject.Member(name: "ownerRecordName", value: .string(owner.string)))
                }
                options.append(JSONObject.Member(name: "zoneID", value: .object(JSONObject(zone))))
            }
        } else {
            options.append(JSONObject.Member(name: "zoneWide", value: true))
        }
        options.append(JSONObject.Member(name: "resultsLimit", value: .integer(Int64(form.limit))))
        if let keys { options.append(JSONObject.Member(name: "desiredKeys", value: .array(keys.map { .string($0.string) }))) }
        javaScript = """
            const container = CloudKit.getContainer('\(place.address.container)')
            const query = \(RecordJSON.laidOut(json))
            const options = \(RecordJSON.laidOut(.object(JSONObject(options))))
            const response = await container.\(place.address.scope.rawValue)CloudDatabase.performQuery(query, options)
            """
        path = "/database/1/\(place.address.container)/\(place.address.environment.rawValue)/\(place.address.scope.rawValue)/records/query"
        let body = JSONValue.object(JSONObject([JSONObject.Member(name: "query", value: json)] + options))
        let user = place.user.map { " \\\n  -H \(Self.quoted("X-Skylight-User: \($0)"))" } ?? ""
        request = "\(user) \\\n  -d \(Self.quoted(RecordJSON.laidOut(body)))"
    }

    /// The query as requests carry it, system fields under the member that CloudKit has for them.
    private static func json(_ query: Query, type: RecordType?) -> JSONValue {
        var writer = JSONWriter()
        writer.value(query)
        guard case .object(var object)? = try? JSONReader.value(of: writer.bytes) else { return nil }
        for list: Name in ["filterBy", "sortBy"] {
            guard case .array(let items)? = object[list] else { continue }
            object[list] = items.isEmpty ? nil : .array(items.map { named($0, type: type) })
        }
        return .object(object)
    }

    private static func named(_ item: JSONValue, type: RecordType?) -> JSONValue {
        guard case .object(let object) = item, case .string(let name)? = object["fieldName"] else { return item }
        guard case .system(let field) = (type ?? RecordType(name: "")).key(named: Name(name)) else { return item }
        return .object(
            JSONObject(
                object.map { member in
                    member.name == "fieldName" ? JSONObject.Member(name: "systemFieldName", value: .string(field.alias.string)) : member
                }))
    }

    /// As a shell reads it.
    private static func quoted(_ text: String) -> String {
        "'" + text.replacing("'", with: "'\\''") + "'"
    }
}
