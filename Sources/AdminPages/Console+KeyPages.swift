internal import Console
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird

extension Console {
    /// Adds the page API tokens & keys and its actions.
    func addKeyPages(to router: Routes.Group) {
        show("keys", on: router) { .page(try KeysView.load($0, access)) }
        show("keys/revoke", on: router) { .page(try KeyActions.confirmRevocation($0)) }
        act("keys/revoke", on: router) { try await KeyActions.revoke($0) }
        submit("keys/token", carries: .choices, on: router, [.showsSecret]) { try await KeyActions.makeToken($0, access) }
        submit("keys/key", carries: .choices, on: router, [.showsSecret]) { try await KeyActions.registerKey($0, access) }
        show("keys/signature", on: router) { .page(try SignatureView.load($0)) }
        // Uses POST because a body can be long and must not appear in URLs. The request changes nothing.
        submit("keys/signature", carries: .texts(of: SignatureForm.bodyLimit), on: router, [.showsSecret]) { .page(try await SignatureView.check($0)) }
    }
}
