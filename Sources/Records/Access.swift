/// What a caller may do to the records of a public database. In a private database its owner may do everything,
/// and in the shared one the permission of the share holds, whatever this says.
public enum Access: Sendable, Hashable {
    /// The owner of the data at work on it (the console, the command line, Skylight's own services):
    /// no role is asked.
    case unrestricted
    /// A user or a server-to-server key: what is granted to `_world` and `_icloud`, to `_creator` for records that
    /// this caller created, and to the custom roles that the caller's user record names.
    case signedIn
    /// An API token without a user: what is granted to `_world`.
    case anonymous
}
