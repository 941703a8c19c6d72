internal import Accounts
internal import Console
internal import Records

/// A newly created API token. This page is the only one that shows it.
struct TokenMadeView: Page {
    static let template = "token_made"
    static let tab = Tab.keys

    let title = "A new API token"
    let name: String
    let id: String
    let container: String
    let environment: String
    let secret: String
    /// The paths of two example requests with the token: a read, and a request that starts a sign-in.
    let lookup: String
    let caller: String
    let back: String

    init(_ token: APIToken, _ secret: String, _ visit: Visit) {
        name = token.name
        id = token.id
        container = token.container.description
        environment = token.environment.rawValue
        self.secret = secret
        let base = "/database/1/\(token.container)/\(token.environment.rawValue)/public"
        lookup = "\(base)/records/lookup?ckAPIToken=\(secret)"
        caller = "\(base)/users/caller?ckAPIToken=\(secret)"
        back = visit.place.link("keys")
    }
}
