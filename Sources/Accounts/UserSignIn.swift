/// A sign-in that may create a user. Its parts determine the limits (``UserAdmission``).
public struct UserSignIn: Sendable, Hashable {
    /// Id of the app's API token; `nil` if it sent none.
    public let apiTokenID: String?
    /// Address of the client.
    public let peer: String

    public init(apiTokenID: String?, peer: String) {
        self.apiTokenID = apiTokenID
        self.peer = peer
    }

    var maker: User.Maker { apiTokenID.map(User.Maker.apiToken) ?? .stranger }
}

extension User.Maker {
    private static let (serverText, strangerText) = ("server", "stranger")

    /// The value stored in the file.
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
