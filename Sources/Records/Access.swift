/// A caller's permissions for records of a public database. In a private database the owner may do everything, and in
/// the shared database the share's permission applies instead.
public enum Access: Sendable, Hashable {
    /// The owner of the data, as in the console, the command line and Skylight's own services. Roles are not checked.
    case unrestricted
    /// A user or a server-to-server key. Has the grants of `_world` and `_icloud`, those of `_creator` for the
    /// caller's own records, and those of the custom roles in the caller's user record.
    case signedIn
    /// An API token without a user. Has the grants of `_world`.
    case anonymous
}
