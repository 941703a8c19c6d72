/// The purpose of a service, for access control.
enum EndpointPurpose: Sendable, Hashable, CaseIterable {
    /// Reads records. In the public database this needs no user; the roles of the types limit it.
    case reading
    /// Changes data, or concerns zones. Requires a user or a key.
    case changing
    /// Identifies the client.
    case caller
    /// Identifies other users.
    case people
}
