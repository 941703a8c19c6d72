internal import Console
internal import JSON
internal import Records

extension CodePanel {
    /// The save of a share.
    init(savingShare operation: RecordOperation, in zoneID: ZoneID, visit: Visit) {
        let writer = CodeWriter(visit.place, zoneID: zoneID)
        let subject = "The save of the share"
        let json = Self.json(of: operation)
        self.init(
            title: "This save as a request",
            samples: [
                writer.javaScript(
                    of: subject,
                    """
                    const records = [\(RecordJSON.laidOut(json))]
                    const response = await database.saveRecords(records\(writer.javaScriptOptions))
                    if (response.hasErrors) throw response.errors[0]
                    for (const share of response.records) console.log(share.shortGUID, share.participants)
                    """),
                writer.modification(operation.kind.rawValue, json, of: subject),
            ])
    }

    private static func json(of operation: RecordOperation) -> JSONValue {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("recordType", Share.recordType)
            if let name = operation.recordName { writer.member("recordName", name) }
            if let tag = operation.recordChangeTag { writer.member("recordChangeTag", tag) }
            writer.members(of: operation.share)
            writer.name("fields")
            writer.object { writer in
                for (name, input) in operation.fields {
                    writer.name(name)
                    writer.object { writer in
                        writer.name("value")
                        if case .tagged(.string(let text), _, _) = input { writer.value(text) } else { writer.null() }
                    }
                }
            }
        }
        // The writer's own output always parses.
        return (try? JSONReader.value(of: writer.bytes)) ?? .object(JSONObject())
    }
}
