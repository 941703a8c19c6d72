internal import Accounts
internal import HTTPServing
package import RecordStore
package import Records
package import RequestLog

/// The findings of this server's stores about a token.
package enum TokenFinding: Sendable {
    case explained(TokenExplanation)
    /// This container and environment did not issue the token. Another one of this server may have.
    case unknown(RecordError, origin: Place?)

    /// The maximum number of containers to search for the origin of a token.
    private static let containerLimit = 100

    package var explanation: TokenExplanation? {
        if case .explained(let explanation) = self { explanation } else { nil }
    }

    /// - Parameter searches: true to search other containers and environments too.
    /// - Throws: `RecordError` BAD_REQUEST if the engine can't explain tokens.
    package static func find(_ token: ChangeToken, searches: Bool, visit: Visit) async throws -> TokenFinding {
        try visit.database.require(.explainTokens)
        do {
            return .explained(
                try await visit.measure { try await visit.database.require(.explainTokens).explain(token) })
        } catch let error as RecordError {
            return .unknown(error, origin: searches ? try await origin(of: token, visit: visit) : nil)
        }
    }

    /// The place that issued a token. Does not create stores.
    private static func origin(of token: ChangeToken, visit: Visit) async throws -> Place? {
        guard visit.engine.can(.listEnvironments) else { return nil }
        let caller = Caller(userRecordName: visit.people.actor.userRecordName)
        for container in visit.containers.prefix(containerLimit) {
            for environment in try await visit.engine.require(.listEnvironments).environments(of: container) {
                var address = visit.place.address
                (address.container, address.environment) = (container, environment)
                if address == visit.place.address { continue }
                let database = try await visit.engine.database(address, as: caller)
                guard let explanation = try await visit.measure({ try await database.meaning(of: token) }) else {
                    continue
                }
                return Place(address: address, user: visit.place.user, zone: .unspecified).home(
                    of: explanation, people: visit.people)
            }
        }
        return nil
    }
}

extension Place {
    /// `iCloud.com.example.Chat, production`
    package var words: String { "\(address.container), \(address.environment.rawValue)" }

    /// The database of a token, as seen by its owner. For the public database, the user does not matter.
    package func home(of explanation: TokenExplanation, people: People) -> Place {
        with { place in
            place.address.scope = explanation.scope
            place.zone = .unspecified
            guard let name = explanation.userRecordName, let user = people.user(name) else { return }
            place.user = user.handle == User.developerHandle ? nil : user.handle
        }
    }

    /// The page that explains a kind of value without the value itself.
    package func link(to credential: PastedKind.Credential) -> String {
        link(Tab.token.rawValue, [(PastedKind.parameterName, credential.rawValue)])
    }
}

extension PastedKind {
    /// The parameter of the page Decode that names a kind of credential in place of one.
    package static let parameterName = "kind"
}

extension PastedValue {
    /// The text as a form repeats it: empty if it is long, or holds a credential.
    package var shown: String { omission == nil ? text : "" }

    /// The reason why a form does not repeat the text; `nil` if it does.
    package var omission: String? {
        if holdsCredential { return "The pasted text holds a credential, so it is not shown again." }
        return text.utf8.count > 16 << 10 ? "The pasted text is too long to show again." : nil
    }

    /// Parses a text. Long texts are parsed on another thread.
    package static func read(_ text: String) async throws -> PastedValue {
        try await WorkPool.prompt.run(on: text.utf8.count) { PastedValue(text) }
    }

    /// The page that explains the value, where it belongs; `nil` if it is no token of this server and nothing that its
    /// form alone tells.
    package func explanation(_ visit: Visit) async throws -> (title: String, href: String)? {
        if let kind, let credential = kind.credential {
            return (kind.title, visit.place.link(to: visit.accounts.kind(of: self) ?? credential))
        }
        func page(_ text: String, _ place: Place) -> String { place.link(Tab.token.rawValue, [("token", text)]) }
        if holdsCredential || tokens.count > 1 { return nil }
        // No store is asked for a text that can't be a token of this server, such as a UUID.
        if let found = tokens.first, let token = found.token, PastedKind(bytes: token.bytes) == .changeToken,
            visit.database.can(.explainTokens)
        {
            switch try await TokenFinding.find(token, searches: true, visit: visit) {
            case .explained: return ("Explain this change token", page(found.text, visit.place))
            case .unknown(_, let origin?):
                return ("Explain this change token, from \(origin.words)", page(found.text, origin))
            case .unknown: break
            }
        }
        guard let kind, kind.isCertain else { return nil }
        return (kind.title, page(text, visit.place))
    }
}

extension Accounts {
    /// The kind of a credential of 64 hexadecimal digits, which several kinds have; `nil` if this server has no such
    /// credential.
    package func kind(of value: PastedValue) -> PastedKind.Credential? {
        guard value.kind == .credential(.digits64), let digits = value.credentialText else { return nil }
        if apiToken(secret: digits) != nil { return .apiToken }
        if serverKeys().contains(where: { $0.keyID == digits }) { return .keyID }
        return notificationTokens(digits, now: .now()).isEmpty ? nil : .notificationToken
    }
}

// MARK: - Meaning of a token

extension RecordDatabase {
    /// The meaning of a token; `nil` if this store did not issue it or can't explain it, or it is damaged.
    /// - Throws: errors of the store itself.
    package func meaning(of token: ChangeToken) async throws -> TokenExplanation? {
        do {
            return try await require(.explainTokens).explain(token)
        } catch let error as RecordError where error.code == .badRequest {
            return nil
        }
    }
}
