internal import JSON
internal import Records

/// A signed request as it was pasted: as a `curl` command, or in its parts.
struct SignatureForm: ViewModel {
    /// Bytes of a body that is looked at.
    static let bodyLimit = 4 << 20

    /// Variables of a command that are named.
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
    /// What could not be read of the command.
    var remarks: [String] = []

    init() {}

    /// - Throws: `RecordError` BAD_REQUEST when the command is none, or its body stands elsewhere.
    init(_ fields: FormFields) throws {
        curl = fields["curl"] ?? ""
        keyID = fields["keyID"]?.trimmedSpaces ?? ""
        date = fields["date"]?.trimmedSpaces ?? ""
        target = fields["target"]?.trimmedSpaces ?? ""
        signature = fields["signature"]?.trimmedSpaces ?? ""
        // Forms end lines with two characters, whatever was typed.
        body = (fields["body"] ?? "").replacing("\r\n", with: "\n")
        if !curl.trimmedSpaces.isEmpty { try read(curl.replacing("\r\n", with: "\n")) }
        if let address = try? CurlReader("curl '\(target.replacing("'", with: "%27"))'"), !target.hasPrefix("/"), !target.isEmpty { target = address.target }
        guard body.utf8.count <= Self.bodyLimit else {
            throw RecordError(.badRequest, "The body is longer than \(Digits.limit(Int64(Self.bodyLimit))), more than is looked at here")
        }
    }

    /// Takes what was typed as it is, to show it again beside a complaint.
    mutating func keep(_ fields: FormFields) {
        curl = fields["curl"] ?? ""
        keyID = fields["keyID"] ?? ""
        date = fields["date"] ?? ""
        target = fields["target"] ?? ""
        body = fields["body"] ?? ""
        signature = fields["signature"] ?? ""
    }

    /// What the command says goes before what the fields say.
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
            ? [] : ["The command holds \(variables.prefix(Self.variableLimit).joined(separator: ", ")), which the shell fills in when it is run. Paste what it was then."]
    }

    private static func words(_ problem: CurlReader.Problem) -> String {
        switch problem {
        case .noCommand: "There is no curl in what was pasted; give the parts of the request instead"
        case .noAddress: "The command names no address"
        case .openQuotation: "A quotation in the command does not end: part of it is missing"
        case .bodyInFile(let name): "The body stands in the file '\(name)', which is not here: paste what is in it as the body, and the other parts beside it"
        case .unreadOption(let option): "What curl sends for \(option) does not stand in the command: give the parts of the request instead, the body as it is sent"
        }
    }

    /// The container and the environment that the target names.
    var place: (container: ContainerID, environment: Records.Environment)? {
        let parts = target.prefix { $0 != "?" }.split(separator: "/")
        guard let start = parts.firstIndex(of: "database"), parts.count > start + 3, let container = ContainerID(String(parts[start + 2])),
            let environment = Records.Environment(rawValue: String(parts[start + 3]))
        else { return nil }
        return (container, environment)
    }
}
