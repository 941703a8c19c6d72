internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Records
internal import RequestLog

/// The access rules of the protocol's services on a server that requires credentials (docs/authentication.md).
///
/// The table applies to valid credentials; ``Authenticator`` refuses invalid ones
/// first. Access to single records is decided later, by the roles of their types.
enum AccessTable {
    /// The kinds of clients, by their credentials.
    enum CredentialKind: Sendable, Hashable, CaseIterable {
        /// No credentials.
        case nobody
        /// An API token without a user's sign-in.
        case app
        /// A web auth token, which identifies a user.
        case user
        case serverKey
    }

    /// The kinds of requests.
    enum RequestKind: Sendable, Hashable, CaseIterable {
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

    static let table: [CredentialKind: [RequestKind: Answer]] = [
        .nobody: [
            .publicReading: .authenticationFailed, .publicChange: .authenticationFailed,
            .ownData: .authenticationRequired,
            .caller: .authenticationRequired, .people: .authenticationRequired,
        ],
        .app: [
            .publicReading: .granted, .publicChange: .authenticationRequired, .ownData: .authenticationRequired,
            .caller: .authenticationRequired, .people: .authenticationRequired,
        ],
        .user: [
            .publicReading: .granted, .publicChange: .granted, .ownData: .granted, .caller: .granted, .people: .granted,
        ],
        .serverKey: [
            .publicReading: .granted, .publicChange: .granted, .ownData: .privateDenied, .caller: .granted,
            .people: .peopleDenied,
        ],
    ]

    static func answer(_ credential: CredentialKind, _ request: RequestKind) -> Answer {
        table[credential]?[request] ?? .authenticationFailed
    }
}

extension AccessTable.RequestKind {
    init(_ purpose: EndpointPurpose, at path: WebServicePath) {
        switch purpose {
        case .caller: self = .caller
        case .people: self = .people
        case .reading: self = path.root == .database(.public) ? .publicReading : .ownData
        // Devices are not in a database. Their tokens belong to a user, as records of the public database do.
        case .ofUser: self = path.root == .database(.public) || path.root == .device ? .publicChange : .ownData
        }
    }
}

// MARK: - Gate of the administrator

/// Restricts Skylight's own services and the metrics to the administrator if the server requires credentials.
struct AdministratorGate: Sendable {
    static let remedy =
        "Send the administrator's password (Authorization: Basic, with the name 'admin'), or sign in to the console. Commands on the server's own "
        + "machine that use its data folder don't need it"
    static let refusal = RecordError(.authenticationFailed, "Only the administrator may do this. " + remedy)
    private static let challenge = #"Basic realm="Skylight", charset="UTF-8""#

    let access: AccessControl

    /// Returns the answer that refuses a request which is not the administrator's; `nil` to accept the request.
    func refusal(of request: Request, _ context: ServingRequestContext) async throws -> Response? {
        do {
            guard try await access.administrator(of: request, peer: context.peer) == nil else {
                RequestRecorder.current?.update { $0.authentication = Authentication(way: .administrator) }
                return nil
            }
        } catch let error as RecordError {
            Self.noteRefusal(of: request, context, wasLookedAt: false)
            return .failure(error, of: context.requestID, noting: RequestRecorder.current)
        }
        Self.noteRefusal(of: request, context)
        // A request from a script must not make the browser ask for a password.
        let isOfScript = request.headers[.secFetchMode].map { $0 != "navigate" } ?? false
        let refusal = Refusal(
            .unauthorized, Self.refusal.code, Self.refusal.reason,
            headers: isOfScript ? [:] : [.wwwAuthenticate: Self.challenge])
        RequestRecorder.current?.failed(refusal, context)
        return refusal.response(from: request, context: context)
    }

    /// Records a failed administrator sign-in and its reason in the request log and the server log.
    private static func noteRefusal(of request: Request, _ context: ServingRequestContext, wasLookedAt: Bool = true) {
        let proof = AccessControl.noteFailedProof(of: request, context, wasLookedAt: wasLookedAt)
        let authentication = proof.map { Authentication(failed: $0) } ?? Authentication(way: .nothing)
        RequestRecorder.current?.update { $0.authentication = authentication }
    }
}

extension Authentication {
    /// The authentication result of a request that failed to prove that it is the administrator's.
    init(failed proof: AccessControl.FailedProof) {
        self.init(
            way: .administrator,
            problem: Problem(
                kind: proof.rawValue, sentence: proof.sentence,
                remedy: proof == .tooManyPasswords ? "Wait as long as Retry-After says" : AdministratorGate.remedy))
    }
}
