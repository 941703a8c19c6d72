/// The `serverErrorCode` values of CloudKit Web Services (Apple's reference page "Error Codes").
public enum ServerErrorCode: String, Sendable, Hashable, CaseIterable {
    /// The caller may not do this.
    case accessDenied = "ACCESS_DENIED"
    /// Nothing of the atomic batch was done, because of another item in it.
    case atomicError = "ATOMIC_ERROR"
    /// The key, token or signature is not accepted.
    case authenticationFailed = "AUTHENTICATION_FAILED"
    /// A user has to sign in.
    case authenticationRequired = "AUTHENTICATION_REQUIRED"
    /// The request is wrong. An expired sync token has this code too.
    case badRequest = "BAD_REQUEST"
    /// Somebody else saved the record since: its change tag is another one.
    case conflict = "CONFLICT"
    /// The record to create is there already.
    case exists = "EXISTS"
    /// A fault of the server.
    case internalError = "INTERNAL_ERROR"
    /// The record, or what else the request names, does not exist.
    case notFound = "NOT_FOUND"
    /// The user or the server has no room left.
    case quotaExceeded = "QUOTA_EXCEEDED"
    /// Too many requests came. The error may say how long to wait.
    case throttled = "THROTTLED"
    /// The server has no time now, and did nothing.
    case tryAgainLater = "TRY_AGAIN_LATER"
    /// A reference that validates keeps the record from being deleted, or lacks its target.
    case validatingReferenceError = "VALIDATING_REFERENCE_ERROR"
    /// The zone is busy with other changes, and nothing was done.
    case zoneBusy = "ZONE_BUSY"
    /// The zone does not exist.
    case zoneNotFound = "ZONE_NOT_FOUND"
}
