internal import Console
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird

extension Console {
    /// Size limits of the forms, in bytes. Keys are short. A signed request can be long, and percent-encoding triples its size.
    private static let keyFormLimit = 256 << 10
    private static let signatureFormLimit = 3 * SignatureForm.bodyLimit + (64 << 10)

    /// Adds the page API tokens & keys and its actions.
    func addKeyPages(to router: Routes.Group) {
        show("keys", on: router) { .page(try KeysView.load($0, access)) }
        show("keys/revoke", on: router) { .page(try KeyActions.confirmRevocation($0)) }
        act("keys/revoke", on: router) { try await KeyActions.revoke($0) }
        fill("keys/token", limit: Self.keyFormLimit, on: router) { try await KeyActions.makeToken($0, access) }
        fill("keys/key", limit: Self.keyFormLimit, on: router) { try await KeyActions.registerKey($0, access) }
        show("keys/signature", on: router) { .page(try SignatureView.load($0)) }
        // Uses POST because a body can be long and must not appear in URLs. The request changes nothing.
        fill("keys/signature", limit: Self.signatureFormLimit, on: router) { .page(try await SignatureView.check($0)) }
    }

    /// Adds a form that answers with a page or a redirect. The form may carry files.
    private func fill(
        _ path: String, limit: Int, on router: Routes.Group, _ action: @escaping @Sendable (Visit) async throws -> Answer
    ) {
        router.post("\(Self.placePath)/\(path)") { request, context in
            let fields = try await request.form(limit: limit)
            let visit = try await Visit(request, context, fields: fields, console: self)
            var response = try await response(to: visit) { try await action(visit) }
            // The answer may contain a secret that is shown only once.
            response.headers[.cacheControl] = "no-store"
            return response
        }
    }
}
