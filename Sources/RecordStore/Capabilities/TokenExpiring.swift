internal import Records

/// A database whose change tokens can be made worthless, as CloudKit's become when a server has forgotten what they refer to.
public protocol TokenExpiring: RecordDatabase {
    /// Expires every token that the container's environment has given out so far, in all of its databases and for all users. What is
    /// stored stays as it is; clients must start without a token.
    func expireTokens() async throws
}
