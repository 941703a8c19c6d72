internal import Accounts
internal import HTTPServing

/// The session of whoever asks for a page, for as long as the page is made.
enum SignedIn {
    /// `nil` where nobody needs to sign in.
    @TaskLocal static var session: ConsoleSession?

    /// What a request with curl needs that a page shows: curl asks for the administrator's password.
    static var curlOption: String { session == nil ? "" : "-u \(AccessControl.administratorName) " }
}
