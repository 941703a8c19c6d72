internal import Records

/// A database whose change tokens can be expired, as happens in CloudKit when the server has dropped the history.
public protocol TokenExpiring: RecordDatabase {
    /// Expires all tokens issued so far by the container and environment, for all databases and users. Stored data is
    /// unchanged; clients must start without a token.
    func expireTokens() async throws
}
