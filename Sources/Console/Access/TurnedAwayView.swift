internal import HTTPTypes

/// What a form or a script is told that has no session, or none any more.
struct TurnedAwayView: Page {
    static let template = "turned_away"
    static let tab = Tab.home

    let title = "Sign in"
    let status = HTTPResponse.Status.unauthorized
    /// The script of the page's frame: none of its own.
    let script: String? = nil
    let signIn: String
}
