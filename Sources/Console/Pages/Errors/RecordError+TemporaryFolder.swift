package import Records

extension RecordError {
    /// The error of an action that needs files in the server's temporary folder. Its text has no path: those are the server's own.
    /// - Parameter consequence: what did not happen, such as `Nothing can be copied`.
    package static func noTemporaryFile(_ consequence: String) -> RecordError {
        RecordError(.internalError, "\(consequence): the server can't create a file in its temporary folder; check its space and permissions")
    }
}
