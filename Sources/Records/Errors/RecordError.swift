public import Foundation

/// An error in terms of the protocol.
public struct RecordError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The code as sent to clients.
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
    /// The error for a malformed request. The detail says what was expected, where, and what was found.
    public static func unexpectedInput(_ detail: String) -> RecordError {
        RecordError(known: .unexpectedInput, detail)
    }

    /// The error for a request with too many items: CloudKit's text, followed by the numbers.
    /// - Parameter member: the member of the request with the items.
    public static func tooManyItems(in member: String, _ count: Int, limit: Int) -> RecordError {
        RecordError(
            known: .arrayTooLong, member,
            "It has \(count) items, and the limit of a request is \(limit); send the others in another request")
    }

    /// NOT_FOUND with CloudKit's text.
    public static let recordNotFound = RecordError(known: .recordNotFound)
    /// ZONE_NOT_FOUND with CloudKit's text.
    public static let zoneNotFound = RecordError(known: .zoneNotFound)
    /// The error for a record that does not fit into the response. Clients recognize it by the start of its text,
    /// which is the same in all versions (docs/services.md).
    public static let tooManyBytes = RecordError(
        known: .tooManyBytes, "; look it up in another request, or request fewer fields with 'desiredKeys'")

    /// True for ``tooManyBytes``, including its text in other versions.
    public var isTooManyBytes: Bool { known == .tooManyBytes }
}

// MARK: - JSON

extension JSONWriter {
    /// The members of an error.
    package mutating func members(of error: RecordError) {
        member("reason", error.reason)
        member("serverErrorCode", error.code.rawValue)
        if let seconds = error.retryAfter { member("retryAfter", Int64(seconds)) }
    }
}

extension JSONMember<RecordError?> {
    /// The error of an item that failed alone.
    package static var error: JSONMember {
        JSONMember(
            [
                MemberShape("reason", isRequired: false, String.shape),
                MemberShape("serverErrorCode", isRequired: false, String.shape),
                MemberShape("retryAfter", isRequired: false, Int.shape),
            ],
            read: { object in
                guard let code = try object.string("serverErrorCode") else { return nil }
                // An unknown code is an error of the server, not of the caller.
                return RecordError(
                    ServerErrorCode(rawValue: code) ?? .internalError, try object.string("reason") ?? code,
                    retryAfter: try Int?.member("retryAfter", of: object))
            },
            write: { error, writer in if let error { writer.members(of: error) } })
    }
}

// MARK: - Codes

/// The `serverErrorCode` values of CloudKit Web Services (Apple's reference page "Error Codes").
public enum ServerErrorCode: String, Sendable, Hashable, CaseIterable {
    /// The caller may not do this.
    case accessDenied = "ACCESS_DENIED"
    /// Nothing of the atomic batch was applied, because another item of it failed.
    case atomicError = "ATOMIC_ERROR"
    /// The key, token or signature is not accepted.
    case authenticationFailed = "AUTHENTICATION_FAILED"
    /// A user has to sign in.
    case authenticationRequired = "AUTHENTICATION_REQUIRED"
    /// The request is invalid. Expired sync tokens are reported with this code too.
    case badRequest = "BAD_REQUEST"
    /// The record's change tag differs, because the record was saved by another client in the meantime.
    case conflict = "CONFLICT"
    /// The record to create already exists.
    case exists = "EXISTS"
    /// A fault of the server.
    case internalError = "INTERNAL_ERROR"
    /// The record, or another object named in the request, does not exist.
    case notFound = "NOT_FOUND"
    /// The user's or the server's storage is full.
    case quotaExceeded = "QUOTA_EXCEEDED"
    /// There were too many requests. The error may contain the time to wait.
    case throttled = "THROTTLED"
    /// The server is too busy at present, and nothing was done.
    case tryAgainLater = "TRY_AGAIN_LATER"
    /// A reference with the action VALIDATE prevents the deletion of its target, or its target does not exist.
    case validatingReferenceError = "VALIDATING_REFERENCE_ERROR"
    /// The zone is busy with other changes, and nothing was done.
    case zoneBusy = "ZONE_BUSY"
    /// The zone does not exist.
    case zoneNotFound = "ZONE_NOT_FOUND"
}

// MARK: - File system errors

// Descriptions of file system errors in the operating system's words. Foundation describes them by domains and codes.

extension CocoaError {
    /// The file's path, if known, and the problem: `'/data/a': No such file or directory`.
    public var words: String {
        let reason =
            switch underlying {
            case let error as CocoaError: error.words
            case let error as POSIXError: error.words
            case let error?: "\(error)"
            case nil: localizedDescription
            }
        return (filePath ?? url?.path(percentEncoded: false)).map { "'\($0)': \(reason)" } ?? reason
    }
}

extension POSIXError {
    /// The system's text for the code: `No such file or directory`.
    public var words: String { String(cString: strerror(code.rawValue)) }
}

// MARK: - Refused signatures

/// A part of a message that a server-to-server key signs: the expected value and, if known, the one that the client
/// signed.
package struct SignedPart: Sendable, Hashable {
    package enum State: String, Sendable, Hashable {
        case matches, differs, unknown
    }

    /// `date`, `body hash`, `target`, or what else may differ: `message`, `signed`, `key`, `signature`.
    package let name: String
    package let expected: String
    package let received: String?
    package let state: State

    package init(name: String, expected: String, received: String?, state: State) {
        self.name = name
        self.expected = expected
        self.received = received
        self.state = state
    }
}
