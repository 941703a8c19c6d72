internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Records
internal import Traffic

/// Restricts Skylight's own services and the metrics to the administrator if the server requires credentials. The gate runs before
/// all routes of the web services. It guards every route that is not listed as open, so that no new route is left unguarded.
struct AdministratorGate: RouterMiddleware {
    typealias Context = ServingRequestContext

    static let remedy =
        "Send the administrator's password (Authorization: Basic, with the name 'admin'), or sign in to the console. Commands on the server's own "
        + "machine that use its data folder don't need it"
    static let refusal = RecordError(.authenticationFailed, "Only the administrator may do this. " + remedy)
    private static let challenge = #"Basic realm="Skylight", charset="UTF-8""#

    /// The routes that need no administrator. The protocol has its own credentials, and
    /// asset addresses carry tickets. The others reveal only public facts to other clients.
    private static let open: Set<String> = ["/database/**", "/device/**", "/assets/**", "/health", OpenAPIDocument.path]
    private static let guardedRoots: Set<Substring> = ["skylight", "metrics"]

    let access: AccessControl
    let crossOrigin: CrossOrigin
    /// All routes of the web services.
    let routes: Set<String>

    func handle(
        _ request: Request, context: ServingRequestContext, next: (Request, ServingRequestContext) async throws -> Response
    ) async throws -> Response {
        guard access.mode == .required, guards(request, context) else { return try await next(request, context) }
        do {
            guard try await access.administrator(of: request, peer: context.peer) == nil else {
                RequestNote.current?.update { $0.authentication = Authentication(way: .administrator) }
                return try await next(request, context)
            }
        } catch let error as RecordError {
            Self.noteRefusal(of: request, context, wasLookedAt: false)
            return crossOrigin.allowing(request, .failure(error, of: context.requestID, noting: RequestNote.current))
        }
        Self.noteRefusal(of: request, context)
        // A script's request must not make the browser prompt for a password.
        let isOfScript = HTTPField.Name("Sec-Fetch-Mode").flatMap { request.headers[$0] }.map { $0 != "navigate" } ?? false
        let refusal = Refusal(
            .unauthorized, Self.refusal.code, Self.refusal.reason, headers: isOfScript ? [:] : [.wwwAuthenticate: Self.challenge])
        RequestNote.current?.failed(refusal, context)
        return crossOrigin.allowing(request, refusal.response(from: request, context: context))
    }

    /// True if only the administrator may make this request. The matched route decides; if
    /// no route matches, the path does. The router ignores slashes at the end of a path.
    private func guards(_ request: Request, _ context: ServingRequestContext) -> Bool {
        guard request.method != .options, request.uri.path != SkylightServices.root + "health" else { return false }
        if request.uri.path.split(separator: "/").first.map(Self.guardedRoots.contains) ?? false { return true }
        return context.endpointPath.map { routes.contains($0) && !Self.open.contains($0) } ?? false
    }

    /// Records a failed administrator sign-in and its reason in the request log and the server log.
    private static func noteRefusal(of request: Request, _ context: ServingRequestContext, wasLookedAt: Bool = true) {
        let proof = AccessControl.noteFailedProof(of: request, context, wasLookedAt: wasLookedAt)
        let authentication = proof.map { Authentication(failed: $0) } ?? Authentication(way: .nothing)
        RequestNote.current?.update { $0.authentication = authentication }
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
