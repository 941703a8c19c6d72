internal import Accounts
internal import Console
internal import JSON
internal import Records
internal import Traffic

/// The authentication of a request, and its errors.
struct AuthenticationView: ViewModel {
    /// `API token ‘Web app’`
    let words: String
    /// The page of the credential's container and environment; `nil` if there is none.
    let href: String?
    let note: String?
    let diagnosis: Diagnosis?

    init(_ authentication: Authentication, of request: ServedRequest, _ visit: Visit) {
        let accounts = visit.accounts
        let session = authentication.session.flatMap { id in accounts.webAuthSessions().first { $0.id == id } }
        let key = authentication.way == .serverKey ? authentication.credential.flatMap { accounts.serverKey($0) } : nil
        let token = authentication.way == .serverKey ? nil : authentication.credential.flatMap { id in accounts.apiTokens().first { $0.id == id } }
        let credential = authentication.credential
        switch authentication.way {
        case .open: (words, note) = ("no credentials", "this server requires none")
        case .nothing: (words, note) = ("no credentials", nil)
        case .apiToken:
            words = "API token" + (token.map { " ‘\($0.name)’" } ?? "")
            note = credential ?? "unknown"
        case .webAuth:
            words = "web auth token" + (session.map { " of \(visit.people.name(of: $0.user))" } ?? "")
            let parts = [
                token.map { "under the API token ‘\($0.name)’" } ?? credential.map { "under the API token \($0)" }, authentication.session.map { "sign-in \($0)" },
            ]
            note = parts.compactMap(\.self).joined(separator: ", ")
        case .serverKey:
            words = "signature of the key" + (key.map { " ‘\($0.name)’" } ?? "")
            note = credential.map { $0.utf8.count > 16 ? "\($0.prefix(12))…" : $0 } ?? "without a key ID"
        case .mixed: (words, note) = ("a token and a signature", "a request may have only one of them")
        case .administrator: (words, note) = ("the administrator", nil)
        case .owner: (words, note) = ("the owner of the data", "roles do not apply")
        }
        // For unregistered credentials, the link leads to the page that registers them.
        let isKnown = ![.open, .administrator, .owner].contains(authentication.way)
        href = if isKnown, let container = request.container, let environment = request.environment, visit.containers.contains(container) {
            visit.place.with {
                $0.address = DatabaseAddress(container: container, environment: environment, scope: visit.place.address.scope)
                $0.zone = .unspecified
            }.link(Tab.keys.rawValue)
        } else {
            nil
        }
        diagnosis = authentication.problem.map { Diagnosis($0, isSignature: authentication.way == .serverKey) }
    }
}

extension Authentication {
    /// The error in a few words: `signature: body`, `expired session`; `nil` if there was none.
    var problemWords: String? {
        guard let problem else { return nil }
        let words = problem.kind.uncapped
        return way == .serverKey ? "signature: \(words)" : words
    }
}
