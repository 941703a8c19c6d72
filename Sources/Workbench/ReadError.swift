public import Records

/// One error in a pasted text.
public struct ReadError: Sendable, Hashable {
    /// The nesting depth, 0 for the outermost error. The errors of items are one level deeper than their batch error.
    public let depth: Int
    /// The item with the error: a record name, or its path in an answer.
    public var subject: String?
    /// The domain, such as `CKErrorDomain` or `NSCocoaErrorDomain`; `nil` for an error of the web services.
    public var domain: String?
    public var number: Int?
    /// CloudKit's internal error number, which Apple does not document: see ``ErrorCode/internal``.
    public var internalNumber: Int?
    /// The name of the code in the text.
    public var name: String?
    /// The server's message, or the description.
    public var message: String?
    /// The id of the request on the server.
    public var uuid: String?
    public var operationID: String?
    public var container: String?
    /// The delay before a retry, in seconds.
    public var retryAfter: Double?
    /// The change tags of a conflict.
    public var clientTag: String?
    public var serverTag: String?

    init(depth: Int) {
        self.depth = depth
    }

    /// What is known of the code; `nil` for unknown codes and other domains.
    public var code: ErrorCode? {
        switch domain {
        case "CKErrorDomain": number.flatMap(ErrorCode.framework) ?? name.flatMap(ErrorCode.frameworkNamed)
        case ErrorCode.internalDomain: number.flatMap(ErrorCode.internal)
        case nil: name.flatMap(ErrorCode.named)
        default: nil
        }
    }

    /// What is known of CloudKit's internal number beside the code; `nil` if there is none, or it is unknown.
    public var internalCode: ErrorCode? { domain == "CKErrorDomain" ? internalNumber.flatMap(ErrorCode.internal) : nil }

    /// The explanation of the message; `nil` for unknown messages.
    public var knownReason: KnownReason? { message.flatMap { KnownReason(quotedIn: $0) } }
}
