internal import Records

/// The access rules of the protocol's services on a server that requires credentials (docs/authentication.md).
///
/// The table applies to valid credentials; ``Authenticator`` refuses invalid ones
/// first. Access to single records is decided later, by the roles of their types.
enum AccessTable {
    /// The kinds of clients.
    enum Asker: Sendable, Hashable, CaseIterable {
        /// No credentials.
        case nobody
        /// An API token without a user.
        case app
        /// A web auth token.
        case user
        case serverKey
    }

    /// The kinds of requests.
    enum Ask: Sendable, Hashable, CaseIterable {
        case publicReading
        case publicChange
        /// Any access to a private or shared database.
        case ownData
        case caller
        case people
    }

    enum Answer: Sendable, Hashable {
        case granted
        /// 401
        case authenticationFailed
        /// 421
        case authenticationRequired
        /// 403
        case privateDenied
        /// 403
        case peopleDenied
    }

    static let table: [Asker: [Ask: Answer]] = [
        .nobody: [
            .publicReading: .authenticationFailed, .publicChange: .authenticationFailed, .ownData: .authenticationRequired,
            .caller: .authenticationRequired, .people: .authenticationRequired,
        ],
        .app: [
            .publicReading: .granted, .publicChange: .authenticationRequired, .ownData: .authenticationRequired,
            .caller: .authenticationRequired, .people: .authenticationRequired,
        ],
        .user: [.publicReading: .granted, .publicChange: .granted, .ownData: .granted, .caller: .granted, .people: .granted],
        .serverKey: [
            .publicReading: .granted, .publicChange: .granted, .ownData: .privateDenied, .caller: .granted, .people: .peopleDenied,
        ],
    ]

    static func answer(_ asker: Asker, _ ask: Ask) -> Answer {
        table[asker]?[ask] ?? .authenticationFailed
    }
}

extension AccessTable.Ask {
    init(_ purpose: EndpointPurpose, at path: WebServicePath) {
        switch purpose {
        case .caller: self = .caller
        case .people: self = .people
        case .reading: self = path.root == .database(.public) ? .publicReading : .ownData
        // Devices have no database: their tokens are the user's, as the public database's records are.
        case .changing: self = path.root == .database(.public) || path.root == .device ? .publicChange : .ownData
        }
    }
}
