internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird

extension Console {
    /// Bytes that the forms may have. Keys are short; what a request to be looked at sent can be long, and each of its bytes takes up to three.
    private static let keyFormLimit = 256 << 10
    private static let signatureFormLimit = 3 * SignatureForm.bodyLimit + (64 << 10)

    /// The page API tokens & keys, and what is done there.
    func addKeyPages(to router: Router<ServingRequestContext>) {
        show("keys", on: router) { .page(try KeysView.load($0, access)) }
        show("keys/revoke", on: router) { .page(try KeyActions.confirmRevocation($0)) }
        act("keys/revoke", on: router) { try await KeyActions.revoke($0) }
        fill("keys/token", limit: Self.keyFormLimit, on: router) { try await KeyActions.makeToken($0, access) }
        fill("keys/key", limit: Self.keyFormLimit, on: router) { try await KeyActions.registerKey($0, access) }
        show("keys/signature", on: router) { .page(try SignatureView.load($0)) }
        // Asked by POST, as a body can be long and is nobody else's business; nothing changes.
        fill("keys/signature", limit: Self.signatureFormLimit, on: router) { .page(try await SignatureView.check($0)) }
    }

    /// A form whose answer is a page of its own, or one to go on with. Files may come with it.
    private func fill(
        _ path: String, limit: Int, on router: Router<ServingRequestContext>, _ action: @escaping @Sendable (Visit) async throws -> Answer
    ) {
        router.post(RouterPath("\(Self.placePath)/\(path)")) { request, context in
            let fields = try await request.form(limit: limit)
            let visit = try await Visit(request, context, fields: fields, console: self)
            var response = try await response(to: visit) { try await action(visit) }
            // An answer may hold a secret that is shown once.
            response.headers[.cacheControl] = "no-store"
            return response
        }
    }
}
