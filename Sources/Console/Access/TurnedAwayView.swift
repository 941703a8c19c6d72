internal import HTTPTypes

/// The answer to a form or a script that has no session or an expired one.
struct TurnedAwayView: Page {
    static let template = "turned_away"
    static let tab = Tab.home

    let title = "Sign in"
    let status = HTTPResponse.Status.unauthorized
    /// The page has no script of its own.
    let script: String? = nil
    let signIn: String
}
