internal import Accounts
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import Records

/// Who is let in, and by what: `/skylight/1/accounts/…` (docs/services.md). What changes something answers to POST, the rest to GET. Nothing of
/// these is noted: their bodies hold what lets people in.
enum AccountServices {
    static let all: [String: any AccountService.Type] = [
        "accounts/administrator": AdministratorState.self,
        "accounts/administrator/password": AdministratorPasswordChange.self,
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

    /// - Throws: `RecordError` in the protocol's words; ``Refusal`` 405 for another method than the service's.
    static func answer(_ service: any AccountService.Type, _ action: String, to request: Request, from peer: String, by access: AccessControl) async throws -> Response {
        let isGET = service.method == .get
        try SkylightServices.check(request.method, of: action, allowing: service.method)
        let body = isGET ? try RequestObject(parametersOf: request) : try await RequestObject.reading(try await request.bodyBytes())
        var writer = JSONWriter()
        try await service.answer(AccountCall(access: access, request: request, peer: peer, body: body), into: &writer)
        var response = Response.json(writer.bytes)
        // What is told once is not to be found in a cache.
        response.headers[.cacheControl] = "no-store"
        return response
    }
}

/// A service about accounts.
protocol AccountService: Sendable, DescribedService {
    static var method: HTTPRequest.Method { get }
    static func answer(_ call: AccountCall, into writer: inout JSONWriter) async throws
}

/// A request for one.
struct AccountCall: Sendable {
    let access: AccessControl
    let request: Request
    /// The address that it comes from.
    let peer: String
    let body: RequestObject

    var accounts: Accounts { access.accounts }

    /// Where a credential is to be good.
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
