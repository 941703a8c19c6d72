internal import Accounts
internal import HTTPServing

/// The session of the client that requested the page, for the duration of the request.
package enum SignedIn {
    /// `nil` if the console requires no sign-in.
    @TaskLocal static var session: ConsoleSession?

    /// The credentials option of the curl commands on a page. With this option, curl asks for the administrator's password.
    package static var curlOption: String { session == nil ? "" : "-u \(AccessControl.administratorName) " }
}
