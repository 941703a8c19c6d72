internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// Queries and fetches, as code.
extension CodePanel {
    /// A query and its first page.
    init(_ plan: QueryPlan, form: QueryForm, type: RecordType?, visit: Visit) {
        let zoneID: ZoneID? = if case .zone(let zoneID) = visit.queryArea { zoneID } else { nil }
        let writer = CodeWriter(visit.place, zoneID: zoneID)
        let keys: [Name]? = form.returnsSystemFieldsOnly ? [] : form.keys.isEmpty ? nil : form.keys
        let swift = SwiftQueryCode(plan.query, type: type, in: visit.place.address, zoneID: zoneID, keys: keys, limit: form.limit)
        let query = QueryCode.json(plan.query, type: type)
        var options = zoneID == nil ? [JSONObject.Member(name: "zoneWide", value: true)] : writer.zoneMembers
        options.append(JSONObject.Member(name: "resultsLimit", value: .integer(Int64(form.limit))))
        options += CodeWriter.keyMembers(keys)
        let subject = "The query"
        self.init(
            title: "This query as code",
            samples: [
                CodeSample("Swift, async", of: subject, text: swift.text),
                CodeSample("Swift, CKQueryOperation", of: subject, text: swift.operationText),
                writer.javaScript(
                    of: subject,
                    """
                    const query = \(RecordJSON.laidOut(query))
                    const options = \(RecordJSON.laidOut(.object(JSONObject(options))))
                    const response = await database.performQuery(query, options)
                    \(CodeWriter.printRecords)
                    """),
                writer.command("records/query", [JSONObject.Member(name: "query", value: query)] + options, of: subject),
            ])
    }

    /// A fetch of records by name.
    init(fetching names: [Name], keys: [Name]?, zoneID: ZoneID, visit: Visit) {
        let writer = CodeWriter(visit.place, zoneID: zoneID)
        let swift = SwiftFetchCode(names, keys: keys, writer: writer)
        let subject = "The fetch"
        let options = writer.zoneMembers + CodeWriter.keyMembers(keys)
        let list = JSONValue.array(names.map { .string($0.string) })
        let argument = options.isEmpty ? "" : ", \(RecordJSON.laidOut(.object(JSONObject(options))))"
        let records = names.map { JSONValue.object(JSONObject([JSONObject.Member(name: "recordName", value: .string($0.string))])) }
        self.init(
            title: "This fetch as code",
            samples: [
                CodeSample("Swift, async", of: subject, text: swift.text),
                CodeSample("Swift, CKFetchRecordsOperation", of: subject, text: swift.operationText),
                writer.javaScript(
                    of: subject,
                    """
                    const response = await database.fetchRecords(\(RecordJSON.laidOut(list))\(argument))
                    \(CodeWriter.printRecords)
                    """),
                writer.command("records/lookup", [JSONObject.Member(name: "records", value: .array(records))] + options, of: subject),
            ])
    }
}
