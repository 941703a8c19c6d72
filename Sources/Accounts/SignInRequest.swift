public import Records

/// A requested sign-in, which a `redirectURL` refers to.
public struct SignInRequest: Sendable, Hashable {
    /// Seconds for which its ticket is valid.
    public static let life = 3600

    public var container: ContainerID
    public var environment: Environment
    /// API token of the request that required a user; `nil` if it had none.
    public var apiTokenID: String?
    /// Origin of the requesting page, to which the token may be posted; `nil` if it was not a page.
    public var origin: String?

    public init(container: ContainerID, environment: Environment, apiTokenID: String? = nil, origin: String? = nil) {
        self.container = container
        self.environment = environment
        self.apiTokenID = apiTokenID
        self.origin = origin
    }
}
