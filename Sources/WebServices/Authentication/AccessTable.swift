internal import Records

/// Who may ask for what of the protocol's services on a server that requires credentials (protocol.md, section 2; docs/authentication.md).
///
/// Where credentials are good, that is; of those that are not, ``Authenticator`` says so first. What may be done to single records is decided
/// after this, by the roles of their types.
enum AccessTable {
    /// Who asks.
    enum Asker: Sendable, Hashable, CaseIterable {
        /// Without credentials.
        case nobody
        /// With an API token alone.
        case app
        /// With a web auth token.
        case user
        case serverKey
    }

    /// What is asked for.
    enum Ask: Sendable, Hashable, CaseIterable {
        case publicReading
        case publicChange
        /// Anything in a private or shared database.
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
        case .changing: self = path.root == .database(.public) ? .publicChange : .ownData
        }
    }
}
