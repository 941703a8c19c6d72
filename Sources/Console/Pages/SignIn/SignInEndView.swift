internal import HTTPTypes

/// A failed sign-in: it was cancelled, or the ticket is invalid.
struct SignInEndView: Page {
    static let template = "sign_in_end"
    static let tab = Tab.home

    let title: String
    let status: HTTPResponse.Status
    let script: String
    let heading: String
    let lines: [String]
    /// The link back to the choice of users.
    let again: String?
    /// The origin whose pages may receive the message, and the message.
    let origin: String?
    let message: String?

    /// For a ticket that is expired, invalid or from another server.
    static func expired(_ files: StaticFiles) -> SignInEndView {
        SignInEndView(
            title: "Sign-in link expired", status: .badRequest, script: files.url("signin.js"), heading: "This sign-in link is no longer valid",
            lines: [
                "A sign-in link works for one hour, on the server that created it, until its API token is revoked.",
                "Go back to the app and try again. Its next request that needs a user gets a new link.",
            ], again: nil, origin: nil, message: nil)
    }

    /// For an address with too many sign-ins.
    static func tooMany(_ reason: String, _ files: StaticFiles) -> SignInEndView {
        SignInEndView(
            title: "Too many sign-ins", status: .tooManyRequests, script: files.url("signin.js"), heading: "Too many sign-ins", lines: ["\(reason)."],
            again: nil, origin: nil, message: nil)
    }

    static func cancelled(_ way: SignInWay, again: String, _ files: StaticFiles) -> SignInEndView {
        let origin: String? = if case .opener(let origin) = way { origin } else { nil }
        return SignInEndView(
            title: "Sign-in cancelled", status: .ok, script: files.url("signin.js"), heading: "Sign-in cancelled",
            lines: ["Nobody is signed in. You can close this window."], again: again, origin: origin, message: "The sign-in was cancelled")
    }
}
