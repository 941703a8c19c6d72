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
}
