/// A sign-in that may make a user, where strangers can come: what making is bounded by (``UserAdmission``).
public struct UserSignIn: Sendable, Hashable {
    /// The API token that the app sent, by its id; `nil` when it sent none, so that anybody may have come.
    public let apiTokenID: String?
    /// The address that it comes from.
    public let peer: String

    public init(apiTokenID: String?, peer: String) {
        self.apiTokenID = apiTokenID
        self.peer = peer
    }

    var maker: User.Maker { apiTokenID.map(User.Maker.apiToken) ?? .stranger }
}

extension User.Maker {
    private static let (serverText, strangerText) = ("server", "stranger")

    /// As the file has it.
    var text: String {
        switch self {
        case .server: Self.serverText
        case .stranger: Self.strangerText
        case .apiToken(let id): id
        }
    }

    init(text: String) {
        self =
            switch text {
            case Self.serverText: .server
            case Self.strangerText: .stranger
            default: .apiToken(text)
            }
    }
}
