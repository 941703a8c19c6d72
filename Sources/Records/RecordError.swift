/// An error in terms of the protocol.
public struct RecordError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The code as clients see it.
    public var code: ServerErrorCode
    /// One sentence for the developer with the field, the rule and the remedy, if any. Uses CloudKit's text where it
    /// is known.
    public var reason: String
    /// Seconds to wait before repeating the request.
    public var retryAfter: Int?

    /// An error of a request, or of one of its items.
    public init(_ code: ServerErrorCode, _ reason: String, retryAfter: Int? = nil) {
        self.code = code
        self.reason = reason
        self.retryAfter = retryAfter
    }

    public var description: String { "\(code.rawValue): \(reason)" }
}

extension RecordError {
    /// The error for a malformed request: what was expected, where, and what was found.
    public static func unexpectedInput(_ detail: String) -> RecordError {
        RecordError(known: .unexpectedInput, detail)
    }

    /// The error for a request with too many items, in CloudKit's words and then with the numbers.
    /// - Parameter member: the member of the request that holds them.
    public static func tooManyItems(in member: String, _ count: Int, limit: Int) -> RecordError {
        RecordError(
            known: .arrayTooLong, member, "It has \(count) items, and the limit of a request is \(limit); send the others in another request")
    }

    /// NOT_FOUND in CloudKit's words.
    public static let recordNotFound = RecordError(known: .recordNotFound)
    /// ZONE_NOT_FOUND in CloudKit's words.
    public static let zoneNotFound = RecordError(known: .zoneNotFound)
    /// The error for a record that does not fit into the response. Clients rely on its start, which is the same in all versions (docs/services.md).
    public static let tooManyBytes = RecordError(
        known: .tooManyBytes, "; look it up in another request, or request fewer fields with 'desiredKeys'")

    /// True for ``tooManyBytes``, including its text in other versions.
    public var isTooManyBytes: Bool { known == .tooManyBytes }
}
