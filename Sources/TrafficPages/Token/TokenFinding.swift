internal import Accounts
internal import Console
internal import RecordStore
internal import Records

/// The findings of this server's stores about a token.
enum TokenFinding: Sendable {
    case explained(TokenExplanation)
    /// This container and environment did not issue the token. Another one of this server may have.
    case unknown(RecordError, origin: Place?)

    /// The maximum number of containers to search for the origin of a token.
    private static let containerLimit = 100

    var explanation: TokenExplanation? {
        if case .explained(let explanation) = self { explanation } else { nil }
    }

    /// - Parameter searches: true to search other containers and environments too.
    /// - Throws: `RecordError` BAD_REQUEST if the engine can't explain tokens.
    static func find(_ token: ChangeToken, searches: Bool, visit: Visit) async throws -> TokenFinding {
        try visit.database.require(.explainTokens)
        do {
            return .explained(try await visit.measure { try await visit.database.explain(token) })
        } catch let error as RecordError {
            return .unknown(error, origin: searches ? try await origin(of: token, visit: visit) : nil)
        }
    }

    /// The place that issued a token. Does not create stores.
    private static func origin(of token: ChangeToken, visit: Visit) async throws -> Place? {
        guard visit.engine.can(.listEnvironments) else { return nil }
        let caller = Caller(userRecordName: visit.people.actor.userRecordName)
        for container in visit.containers.prefix(containerLimit) {
            for environment in try await visit.engine.environments(of: container) {
                var address = visit.place.address
                (address.container, address.environment) = (container, environment)
                if address == visit.place.address { continue }
                let database = try await visit.engine.database(address, as: caller)
                guard let explanation = try await visit.measure({ try await database.meaning(of: token) }) else { continue }
                return Place(address: address, user: visit.place.user, zone: .unspecified).home(of: explanation, people: visit.people)
            }
        }
        return nil
    }
}

extension Place {
    /// The database of a token, as seen by its owner. For the public database, the user does not matter.
    func home(of explanation: TokenExplanation, people: People) -> Place {
        with { place in
            place.address.scope = explanation.scope
            place.zone = .unspecified
            guard let name = explanation.userRecordName, let user = people.user(name) else { return }
            place.user = user.handle == User.developerHandle ? nil : user.handle
        }
    }
}
