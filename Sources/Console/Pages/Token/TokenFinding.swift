internal import Accounts
internal import RecordStore
internal import Records

/// What the stores of this server say of a token.
enum TokenFinding: Sendable {
    case explained(TokenExplanation)
    /// It was not made by this container and environment; perhaps by another one of this server.
    case unknown(RecordError, origin: Place?)

    /// Containers that are asked whether they gave out a token.
    private static let containerLimit = 100

    var explanation: TokenExplanation? {
        if case .explained(let explanation) = self { explanation } else { nil }
    }

    /// - Parameter searches: whether other containers and environments are asked too.
    /// - Throws: `RecordError` BAD_REQUEST when the engine can't explain tokens.
    static func find(_ token: ChangeToken, searches: Bool, visit: Visit) async throws -> TokenFinding {
        guard let explaining = visit.database as? any TokenExplaining else {
            throw RecordError(.badRequest, "This engine can't explain its tokens")
        }
        do {
            return .explained(try await visit.measure { try await explaining.explain(token) })
        } catch let error as RecordError {
            return .unknown(error, origin: searches ? try await origin(of: token, visit: visit) : nil)
        }
    }

    /// The place where a token was given out. Stores that are not there are not made for it.
    private static func origin(of token: ChangeToken, visit: Visit) async throws -> Place? {
        guard let listing = visit.engine as? any EnvironmentListing else { return nil }
        let caller = Caller(userRecordName: visit.people.actor.userRecordName)
        for container in visit.containers.prefix(containerLimit) {
            for environment in try await listing.environments(of: container) {
                var address = visit.place.address
                (address.container, address.environment) = (container, environment)
                if address == visit.place.address { continue }
                let database = try await visit.engine.database(address, as: caller) as? any TokenExplaining
                guard let explanation = try await visit.measure({ try await database?.meaning(of: token) }) else { continue }
                return Place(address: address, user: visit.place.user, zone: .unspecified).home(of: explanation, people: visit.people)
            }
        }
        return nil
    }
}

extension Place {
    /// The database that a token is about, seen as its owner. Of the public database everyone's eyes are as good.
    func home(of explanation: TokenExplanation, people: People) -> Place {
        with { place in
            place.address.scope = explanation.scope
            place.zone = .unspecified
            guard let name = explanation.userRecordName, let user = people.user(name) else { return }
            place.user = user.handle == User.developerHandle ? nil : user.handle
        }
    }
}
