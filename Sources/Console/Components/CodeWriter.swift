package import Records

/// The target of every sample: container, database, zone and user.
package struct CodeWriter {
    let place: Place
    /// `nil` for all zones, and for requests without a zone.
    let zoneID: ZoneID?
    /// The server's address, such as `http://127.0.0.1:8080`.
    let server: String

    package init(_ place: Place, zoneID: ZoneID?, server: String) {
        self.place = place
        self.zoneID = zoneID
        self.server = server
    }

    private var address: DatabaseAddress { place.address }

    /// True if the sample must name the zone. Requests without a zone use the default zone.
    package var isZoned: Bool { zoneID.map { !$0.isDefault || address.scope == .shared } ?? false }

    // MARK: Requests to the web services

    /// The zone in the format of requests.
    package var zoneValue: JSONValue {
        var members = [JSONObject.Member(name: "zoneName", value: .string((zoneID ?? .default).zoneName.string))]
        if address.scope == .shared, let owner = zoneID?.ownerRecordName {
            members.append(JSONObject.Member(name: "ownerRecordName", value: .string(owner.string)))
        }
        return .object(JSONObject(members))
    }

    package var zoneMembers: [JSONObject.Member] {
        isZoned ? [JSONObject.Member(name: "zoneID", value: zoneValue)] : []
    }

    package static func keyMembers(_ keys: [Name]?) -> [JSONObject.Member] {
        keys.map { [JSONObject.Member(name: "desiredKeys", value: .array($0.map { .string($0.string) }))] } ?? []
    }

    /// A request as a shell command.
    package func command(_ path: String, _ body: [JSONObject.Member], of subject: String) -> CodeSample {
        let user = place.user.map { " \\\n  -H \("X-Skylight-User: \($0)".shellQuoted)" } ?? ""
        let text = RecordJSON.laidOut(.object(JSONObject(body)))
        return CodeSample(
            "curl", of: subject, before: "curl -s \(SignedIn.curlOption)", address: server,
            after:
                "/database/1/\(address.container)/\(address.environment.rawValue)/\(address.scope.rawValue)/\(path)\(user) \\\n"
                + "  -d \(text.shellQuoted)")
    }

    /// A batch with one operation as a shell command.
    package func modification(_ kind: String, _ record: JSONValue, of subject: String) -> CodeSample {
        let operation = JSONValue.object(
            JSONObject([
                JSONObject.Member(name: "operationType", value: .string(kind)),
                JSONObject.Member(name: "record", value: record),
            ]))
        return command(
            "records/modify", [JSONObject.Member(name: "operations", value: .array([operation]))] + zoneMembers,
            of: subject)
    }

    // MARK: CloudKit JS

    /// Prints the result or the error.
    package static let printRecords = """
        if (response.hasErrors) throw response.errors[0]
        for (const record of response.records) console.log(record.recordName, record.fields)
        """

    /// The last argument of a call; empty if it has no options.
    package var javaScriptOptions: String {
        isZoned ? ", \(RecordJSON.laidOut(.object(JSONObject(zoneMembers))))" : ""
    }

    /// A sample for CloudKit JS, with the setup that precedes any call.
    package func javaScript(of subject: String, _ text: String) -> CodeSample {
        // Without a user, only the address changes.
        let user = place.user.map { "skylightUser=\(PercentEncoding.encoded($0))" }
        let redirection =
            user == nil
            ? ("fetch: (url, options) => fetch(url.replace(\"https://api.apple-cloudkit.com\", \"", "\"), options),")
            : (
                "fetch: (url, options) => {\n      const address = url.replace(\"https://api.apple-cloudkit.com\", \"",
                "\")\n      return fetch(`${address}${address.includes(\"?\") ? \"&\" : \"?\"}\(user ?? "")`, options)\n    },"
            )
        return CodeSample(
            "CloudKit JS", of: subject,
            before: """
                CloudKit.configure({
                  containers: [{
                    containerIdentifier: "\(address.container)",
                    environment: "\(address.environment.rawValue)",
                    apiTokenAuth: { apiToken: "YOUR_API_TOKEN", persist: true },
                  }],
                  // Sends the requests to Skylight. Without it they go to Apple.
                  services: {
                    \(redirection.0)
                """,
            address: server,
            after: """
                \(redirection.1)
                  },
                })
                const database = CloudKit.getDefaultContainer().\(address.scope.rawValue)CloudDatabase

                """ + text)
    }

    // MARK: Swift

    /// The lines that obtain the database, and the zone if it must be named.
    package func swiftHead(imports: [String] = ["CloudKit"], warnings: [String] = []) -> [String] {
        var lines = imports.map { "import \($0)" } + [""]
        lines += warnings.map { "#warning(\(Self.quoted($0)))" }
        lines.append(
            "let database = CKContainer(identifier: \(Self.quoted(address.container.description))).\(address.scope.rawValue)CloudDatabase"
        )
        if let zone = swiftZone { lines.append("let zoneID = \(zone)") }
        return lines
    }

    /// The expression for the zone's identity; `nil` for the default zone, which Swift code may omit.
    var swiftZone: String? {
        guard isZoned, let zoneID else { return nil }
        let owner =
            address.scope == .shared
            ? zoneID.ownerRecordName.map { ", ownerName: \(Self.quoted($0.string))" } ?? "" : ""
        return "CKRecordZone.ID(zoneName: \(Self.quoted(zoneID.zoneName.string))\(owner))"
    }

    package func swiftRecordID(_ name: Name) -> String {
        "CKRecord.ID(recordName: \(Self.quoted(name.string))\(isZoned ? ", zoneID: zoneID" : ""))"
    }

    package static func swiftList(_ names: [Name]) -> String {
        "[\(names.map { Self.quoted($0.string) }.joined(separator: ", "))]"
    }

    /// A string literal.
    package static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\r": quoted += "\\r"
            case "\t": quoted += "\\t"
            // Escapes invisible characters and those that change the text direction.
            case _
            where [.control, .format, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory):
                quoted += "\\u{\(String(scalar.value, radix: 16))}"
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

// MARK: - Samples

/// A request in one language, ready to paste and run.
package struct CodeSample: ViewModel {
    /// The language, with the variant if there are several: `Swift, async`.
    let title: String
    /// The accessible name of the text, for screen readers: `The query in CloudKit JS`.
    let label: String
    /// The text before the server's address.
    let before: String
    /// The server's address within the text, which the browser replaces by the one that it uses; `nil` if the text has
    /// none.
    let address: String?
    let after: String

    package init(_ title: String, of subject: String, text: String) {
        self.init(title, of: subject, before: text, address: nil, after: "")
    }

    init(_ title: String, of subject: String, before: String, address: String?, after: String) {
        self.title = title
        label = "\(subject) in \(title)"
        self.before = before
        self.address = address
        self.after = after
    }
}

/// A request as client code: in Swift with both of its APIs, in CloudKit JS, and as a shell command.
package struct CodePanel: Component {
    package static let template = "code_panel"

    /// `This query as code`.
    package let title: String
    package let samples: [CodeSample]

    package init(title: String, samples: [CodeSample]) {
        (self.title, self.samples) = (title, samples)
    }
}
