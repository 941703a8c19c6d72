/// What went wrong, in the protocol's own terms.
public struct RecordError: Error, Sendable, Hashable, CustomStringConvertible {
    public var code: ServerErrorCode
    /// One sentence for the developer: the field, the rule and, where there is one, the remedy. Where CloudKit's own text is known, that text.
    public var reason: String
    /// Seconds to wait before the same request can succeed.
    public var retryAfter: Int?

    public init(_ code: ServerErrorCode, _ reason: String, retryAfter: Int? = nil) {
        self.code = code
        self.reason = reason
        self.retryAfter = retryAfter
    }

    public var description: String { "\(code.rawValue): \(reason)" }
}

extension RecordError {
    /// A request whose shape is wrong: what was expected where, and what was found.
    public static func unexpectedInput(_ detail: String) -> RecordError {
        RecordError(.badRequest, "BadRequestException: Unexpected input. \(detail)")
    }

    public static let recordNotFound = RecordError(.notFound, "Record not found")
    public static let zoneNotFound = RecordError(.zoneNotFound, "Zone does not exist")
    /// A record that an answer has no room for.
    public static let tooManyBytes = RecordError(
        .badRequest, "\(tooManyBytesStart); look this one up in another request, or ask for fewer fields in 'desiredKeys'")

    /// How the reason of ``tooManyBytes`` begins in every version: clients go by it (docs/services.md).
    private static let tooManyBytesStart = "The records before this one fill the answer"

    /// Whether this is ``tooManyBytes``, perhaps in the words of another version.
    public var isTooManyBytes: Bool {
        code == .badRequest && reason.utf8.starts(with: Self.tooManyBytesStart.utf8)
    }
}
