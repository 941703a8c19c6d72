internal import Accounts
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import Records

/// The account services under `/skylight/1/accounts/…` (docs/services.md). Services that change
/// data take POST, the others GET. They are not logged, because their bodies contain credentials.
enum AccountServices {
    static let all: [String: any AccountService.Type] = [
        "accounts/administrator": AdministratorState.self,
        "accounts/administrator/password": AdministratorPasswordChange.self,
        "accounts/connections": ConnectionsList.self,
        "accounts/connections/make": ConnectionMaking.self,
        "accounts/connections/remove": ConnectionRemoval.self,
        "accounts/keys": ServerKeysList.self,
        "accounts/keys/register": ServerKeyRegistration.self,
        "accounts/keys/revoke": ServerKeyRevocation.self,
        "accounts/sessions": SessionsList.self,
        "accounts/sessions/make": SessionMaking.self,
        "accounts/sessions/revoke": SessionRevocation.self,
        "accounts/tokens": APITokensList.self,
        "accounts/tokens/make": APITokenMaking.self,
        "accounts/tokens/revoke": APITokenRevocation.self,
        "accounts/users/make": UserMaking.self,
        "accounts/users/remove": UserRemoval.self,
    ]

    /// - Throws: `RecordError` for the protocol's errors.
    static func answer(_ service: any AccountService.Type, to request: Request, from peer: String, by access: AccessControl) async throws -> Response {
        let isGET = service.method == .get
        let body = isGET ? try RequestObject(parametersOf: request) : try await RequestObject.reading(try await request.receivedBytes())
        var writer = JSONWriter()
        try await service.answer(AccountCall(access: access, request: request, peer: peer, body: body), into: &writer)
        var response = Response.json(writer.bytes)
        // Secrets that are returned only once must not stay in a cache.
        response.headers[.cacheControl] = "no-store"
        return response
    }
}

/// An account service.
protocol AccountService: Sendable {
    static var method: HTTPRequest.Method { get }
    static func answer(_ call: AccountCall, into writer: inout JSONWriter) async throws
}

/// A request for an account service.
struct AccountCall: Sendable {
    let access: AccessControl
    let request: Request
    /// The address of the client.
    let peer: String
    let body: RequestObject

    var accounts: Accounts { access.accounts }

    /// The container and environment that a credential is valid for.
    var place: (container: ContainerID, environment: Records.Environment) {
        get throws {
            let container = try body.required("container", "iCloud. and a reverse domain name", try body.container())
            return (container, try body.environment() ?? .development)
        }
    }

    func text(_ name: Name) throws -> String {
        try body.required(name, "a string", try body.string(name))
    }
}
