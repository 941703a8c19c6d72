internal import Records

/// A first request to a database, as code of each client: a query, or the save of a record if there is nothing to
/// query.
struct ClientSnippets: ViewModel {
    /// A label for the database: `iCloud.com.example.App, development, private database`.
    let database: String
    /// The sample that needs no program of its own.
    let curl: CodeSample
    let others: [CodeSample]

    /// - Parameters:
    ///   - server: the server's address.
    ///   - type: the record type to query; `nil` to save a first record.
    init(_ place: Place, server: String, querying type: Name? = nil) {
        let address = place.address
        let writer = CodeWriter(place, zoneID: nil, server: server)
        let subject = type == nil ? "The save" : "The query"
        let (pyicloud, swift) =
            type.map { (Self.pythonQuery($0), Self.swiftQuery($0)) } ?? (Self.pythonSave, Self.swiftSave)
        database = "\(address.container), \(address.environment.rawValue), \(address.scope.rawValue) database"
        if let type {
            let body: [JSONObject.Member] = [
                JSONObject.Member(name: "query", value: ["recordType": .string(type.string)]),
                JSONObject.Member(name: "zoneWide", value: true),
                JSONObject.Member(name: "resultsLimit", value: 5),
            ]
            curl = writer.command("records/query", body, of: subject)
        } else {
            curl = writer.modification("create", Self.note, of: subject)
        }
        others = [
            writer.javaScript(
                of: subject,
                """
                const response = await database.\(Self.javaScriptCall(type))
                \(CodeWriter.printRecords)
                """),
            writer.remoteRecords(of: subject, swift),
            writer.pyicloud(of: subject, pyicloud),
        ]
    }

    /// The record of the first save.
    private static let note: JSONValue = ["recordType": "Note", "fields": ["title": ["value": "Hello"]]]

    private static func javaScriptCall(_ type: Name?) -> String {
        guard let type else {
            return "saveRecords([{ recordType: \"Note\", fields: { title: { value: \"Hello\" } } }])"
        }
        return "performQuery({ recordType: \(CodeWriter.quoted(type.string)) }, { zoneWide: true, resultsLimit: 5 })"
    }

    private static func swiftQuery(_ type: Name) -> String {
        """
        let page = try await database.records(matching: Query(recordType: \(CodeWriter.quoted(type.string))), resultsLimit: 5)
        for (_, result) in page.matchResults { print(try result.get()) }
        """
    }

    private static let swiftSave = """
        var note = Record(recordType: "Note")
        note["title"] = "Hello"
        print(try await database.save(note))
        """

    private static func pythonQuery(_ type: Name) -> (names: String, call: String) {
        (
            "CKQueryObject",
            """
            answer = client.query(query=CKQueryObject(recordType=\(CodeWriter.quoted(type.string))), zone_wide=True, results_limit=5)
            """
        )
    }

    private static let pythonSave = (
        names: "CKModifyOperation, CKWriteRecord, CKZoneIDReq",
        call: """
        note = CKWriteRecord(recordName="hello", recordType="Note", fields={"title": {"type": "STRING", "value": "Hello"}})
        answer = client.modify(
            operations=[CKModifyOperation(operationType="forceUpdate", record=note)], zone_id=CKZoneIDReq(zoneName="_defaultZone"))
        """
    )
}

extension CodeWriter {
    /// A sample for Swift programs with the library RemoteRecords, with the client that precedes any call.
    fileprivate func remoteRecords(of subject: String, _ text: String) -> CodeSample {
        let address = place.address
        return CodeSample(
            "Swift, RemoteRecords", of: subject,
            before: """
                import Logging
                import RemoteRecords

                // Without the configuration, the client talks to iCloud.\(place.user == nil ? "" : "\n// Until a user signs in, it acts as the developer.")
                let client = try ContainerClient(
                    container: ContainerID(\(Self.quoted(address.container.description)))!, environment: .\(address.environment.rawValue),
                    credentials: .apiToken("YOUR_API_TOKEN"), configuration: ClientConfiguration(address: "
                """,
            address: server,
            after: """
                "),
                    logger: Logger(label: "app"))
                let database = Container(client).\(address.scope.rawValue)CloudDatabase

                """ + text)
    }

    /// A sample for pyicloud, with the client that precedes any call.
    fileprivate func pyicloud(of subject: String, _ text: (names: String, call: String)) -> CodeSample {
        let address = place.address
        let user = place.user.map { ", \"skylightUser\": \(Self.quoted($0))" } ?? ""
        return CodeSample(
            "Python, pyicloud", of: subject,
            before: """
                import requests
                from pyicloud.common.cloudkit import \(text.names)
                from pyicloud.common.cloudkit.client import CloudKitContainerClient

                client = CloudKitContainerClient(
                    "
                """,
            address: server,
            after: """
                /database/1/\(address.container)/\(address.environment.rawValue)/\(address.scope.rawValue)",
                    requests.Session(), {"ckAPIToken": "YOUR_API_TOKEN", "clientId": "my-script"\(user)})
                \(text.call)
                for record in answer.records:
                    print(record.recordName, record.fields)
                """)
    }
}

// MARK: - First steps

/// First steps for an empty database.
package struct FirstSteps: Component {
    package static let template = "first_steps"

    let container: String
    /// A first save; `nil` in production, where a save makes no types.
    let client: ClientSnippets?
    /// The links to the form of a new record and to the import of files.
    let newRecord: String
    let importing: String
    /// The page that imports a schema file; `nil` if the engine has no schema.
    let schema: String?
    let development: String

    package init(_ visit: Visit) {
        let place = visit.place
        container = place.address.container.description
        client = place.address.environment == .production ? nil : ClientSnippets(place, server: visit.server)
        newRecord = place.link("record/new")
        importing = place.link(Tab.importing.rawValue)
        schema = visit.canEditSchema ? place.link(Tab.schema.rawValue) : nil
        development = place.with { $0.address.environment = .development }.link(Tab.query.rawValue)
    }
}
