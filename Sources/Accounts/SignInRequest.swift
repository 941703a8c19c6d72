public import Records

/// What a user is to sign in for: what a `redirectURL` stands for.
public struct SignInRequest: Sendable, Hashable {
    /// Seconds that a ticket for one is good for.
    public static let life = 3600

    public var container: ContainerID
    public var environment: Environment
    /// The API token of the request that needed a user; `nil` when it had none.
    public var apiTokenID: String?
    /// The origin of the page that asked, to which the token may be posted; `nil` when it was no page.
    public var origin: String?

    public init(container: ContainerID, environment: Environment, apiTokenID: String? = nil, origin: String? = nil) {
        self.container = container
        self.environment = environment
        self.apiTokenID = apiTokenID
        self.origin = origin
    }
}
