internal import Console
internal import JSON
internal import Records
internal import Text

/// A pasted signed request: as a `curl` command, or as separate parts.
struct SignatureForm: ViewModel {
    /// The size limit of a body, in bytes.
    static let bodyLimit = 4 << 20

    /// The maximum number of shell variables that a remark lists.
    private static let variableLimit = 10

    static let keyHeader = "X-Apple-CloudKit-Request-KeyID"
    static let dateHeader = "X-Apple-CloudKit-Request-ISO8601Date"
    static let signatureHeader = "X-Apple-CloudKit-Request-SignatureV1"

    var curl = ""
    var keyID = ""
    var date = ""
    var target = ""
    var body = ""
    var signature = ""
    /// Remarks on parts of the command that could not be read.
    var remarks: [String] = []

    init() {}

    /// - Throws: `RecordError` BAD_REQUEST if the text is not a curl command, or its body is in a file.
    init(_ fields: FormFields) throws {
        curl = fields["curl"] ?? ""
        keyID = fields["keyID"]?.trimmingSpaces ?? ""
        date = fields["date"]?.trimmingSpaces ?? ""
        target = fields["target"]?.trimmingSpaces ?? ""
        signature = fields["signature"]?.trimmingSpaces ?? ""
        // Browsers submit line ends as CR LF.
        body = (fields["body"] ?? "").replacing("\r\n", with: "\n")
        if !curl.trimmingSpaces.isEmpty { try read(curl.replacing("\r\n", with: "\n")) }
        if let address = try? CurlReader("curl '\(target.replacing("'", with: "%27"))'"), !target.hasPrefix("/"), !target.isEmpty { target = address.target }
        guard body.utf8.count <= Self.bodyLimit else {
            throw RecordError(.badRequest, "The body is longer than \(Digits.bytes(Int64(Self.bodyLimit))); paste a shorter one")
        }
    }

    /// Keeps the raw input, to show it again beside an error.
    mutating func keep(_ fields: FormFields) {
        curl = fields["curl"] ?? ""
        keyID = fields["keyID"] ?? ""
        date = fields["date"] ?? ""
        target = fields["target"] ?? ""
        body = fields["body"] ?? ""
        signature = fields["signature"] ?? ""
    }

    /// The command takes precedence over the other fields.
    private mutating func read(_ text: String) throws {
        let command: CurlReader
        do {
            command = try CurlReader(text)
        } catch {
            throw RecordError(.badRequest, Self.words(error))
        }
        target = command.target
        body = command.body.map { String(decoding: $0, as: UTF8.self) } ?? ""
        keyID = command.header(Self.keyHeader) ?? keyID
        date = command.header(Self.dateHeader) ?? date
        signature = command.header(Self.signatureHeader) ?? signature
        let variables = Set(command.variables).sorted()
        remarks = variables.isEmpty
            ? [] : ["The command has shell variables: \(variables.prefix(Self.variableLimit).joined(separator: ", ")). Paste it with their values."]
    }

    private static func words(_ problem: CurlReader.Problem) -> String {
        switch problem {
        case .noCommand: "The text has no curl command; enter the parts of the request instead"
        case .noAddress: "The command has no URL"
        case .openQuotation: "A quotation mark in the command is not closed; paste the whole command"
        case .bodyInFile(let name): "The body is in the file '\(name)', which the console can't read: enter the parts of the request, with the content of the file as the body"
        case .unreadOption(let option): "The command does not contain what curl sends for \(option): enter the parts of the request instead"
        }
    }

    /// The container and the environment in the target.
    var place: (container: ContainerID, environment: Records.Environment)? {
        let parts = target.prefix { $0 != "?" }.split(separator: "/")
        guard let start = parts.firstIndex(of: "database"), parts.count > start + 3, let container = ContainerID(String(parts[start + 2])),
            let environment = Records.Environment(rawValue: String(parts[start + 3]))
        else { return nil }
        return (container, environment)
    }
}
