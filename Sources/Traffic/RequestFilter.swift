public import JSON
public import Records

/// A filter for requests. Properties without a value match all requests.
public struct RequestFilter: Sendable, Hashable {
    public var container: ContainerID?
    public var environment: Environment?
    public var scope: DatabaseScope?
    public var operation: String?
    public var userRecordName: Name?
    /// ``ClientIdentity/id`` of the client.
    public var client: String?
    /// True to match only requests that failed, as a whole or in items.
    public var errorsOnly = false
    /// True to match only requests with warnings about the client.
    public var warningsOnly = false
    /// Words that must all appear in the properties of the request, regardless of case.
    /// Bodies are not searched. Words beyond the first ``wordLimit`` are ignored.
    public var text = "" {
        didSet { words = text.utf8.split(separator: UInt8(ascii: " ")).prefix(Self.wordLimit).map { $0.map(\.lowercased) } }
    }
    private var words: [[UInt8]] = []

    /// The maximum number of words in ``text``.
    public static let wordLimit = 16

    public init() {}

    public func matches(_ request: ServedRequest) -> Bool {
        if let container, request.container != container { return false }
        if let environment, request.environment != environment { return false }
        if let scope, request.scope != scope { return false }
        if let operation, request.operation != operation { return false }
        if let userRecordName, request.userRecordName != userRecordName { return false }
        if let client, request.client.id != client { return false }
        if errorsOnly, !request.hasErrors { return false }
        if warningsOnly, request.warnings.isEmpty { return false }
        if words.isEmpty { return true }
        let texts = request.texts
        return words.allSatisfy { word in texts.contains { $0.contains(ignoringCase: word) } }
    }
}

extension ServedRequest {
    /// The texts that a search covers.
    fileprivate var texts: [String] {
        var texts = [id, method, target, operation, client.id, client.label, String(status)]
        texts += [client.userAgent, userRecordName?.string, recordType?.string, plan?.index, rehearsals].compactMap(\.self)
        texts += zoneIDs.map(\.zoneName.string) + pulls.compactMap(\.zoneID?.zoneName.string) + warnings.map(\.title)
        if let authentication {
            texts += [authentication.way.rawValue, authentication.credential, authentication.session].compactMap(\.self)
            texts += [authentication.problem?.kind, authentication.problem?.sentence].compactMap(\.self)
        }
        for error in itemErrors + [error].compactMap(\.self) { texts += [error.code.rawValue, error.reason, error.name?.string ?? ""] }
        return texts
    }
}

extension UInt8 {
    /// The lower case of ASCII letters. Other letters are compared case-sensitively.
    fileprivate var lowercased: UInt8 { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self }
}

extension String {
    fileprivate func contains(ignoringCase word: [UInt8]) -> Bool {
        var text = self
        return text.withUTF8 { bytes in
            guard let first = word.first, bytes.count >= word.count else { return word.isEmpty }
            return (0...(bytes.count - word.count)).contains { start in
                bytes[start].lowercased == first && word.indices.allSatisfy { bytes[start + $0].lowercased == word[$0] }
            }
        }
    }
}
