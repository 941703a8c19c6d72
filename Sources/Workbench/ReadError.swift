/// One error as a pasted text tells it.
public struct ReadError: Sendable, Hashable {
    /// 0 for the outermost; the errors of items stand one deeper than the error that brings them.
    public let depth: Int
    /// The item that it is about: a record's name, or where it stands in an answer.
    public var subject: String?
    /// `CKErrorDomain`, `NSCocoaErrorDomain`…; `nil` for an error of the web services.
    public var domain: String?
    public var number: Int?
    /// The number that CloudKit uses within; Apple says nothing of what these mean.
    public var internalNumber: Int?
    /// What the code is called in the text.
    public var name: String?
    /// The sentence of the server, or the description.
    public var message: String?
    /// The request's, as servers know it.
    public var uuid: String?
    public var operationID: String?
    public var container: String?
    /// Seconds to wait.
    public var retryAfter: Double?
    /// The change tags of a conflict.
    public var clientTag: String?
    public var serverTag: String?

    init(depth: Int) {
        self.depth = depth
    }

    /// What is known of its code; `nil` for codes of other domains, and unknown ones.
    public var code: ErrorCode? {
        if domain == "CKErrorDomain" { return number.flatMap(ErrorCode.framework) ?? name.flatMap(ErrorCode.frameworkNamed) }
        return domain == nil ? name.flatMap(ErrorCode.named) : nil
    }

    /// What is known of the sentence.
    public var knownReason: KnownReason? { message.flatMap { KnownReason(of: $0) } }
}
