internal import Accounts
internal import JSON
internal import Records
internal import Text

/// The last page of a sign-in without a redirect. It passes the token to the opener window, and shows it for copying.
struct SignedInView: Page {
    static let template = "signed_in"
    static let tab = Tab.home

    let title = "Signed in"
    let script: String
    let user: String
    let container: String
    let environment: String
    let token: String
    /// The origin whose pages may receive the token; `nil` for none.
    let origin: String?
    /// The path of an example request.
    let path: String

    init(_ user: User, _ token: String, _ request: SignInRequest, _ way: SignInWay, _ files: StaticFiles) {
        script = files.url("signin.js")
        self.user = user.displayName
        container = request.container.description
        environment = request.environment.rawValue
        self.token = token
        if case .opener(let origin) = way { self.origin = origin } else { origin = nil }
        let apiToken = request.apiTokenID == nil ? "" : "ckAPIToken=YOUR_API_TOKEN&"
        path = "/database/1/\(request.container)/\(request.environment.rawValue)/public/users/caller?\(apiToken)ckWebAuthToken=\(PercentEncoding.encoded(token))"
    }
}
