internal import Accounts
internal import HTTPServing
internal import Hummingbird
internal import Records

extension Authenticator {
    /// The client that a signed request counts for, as far as it is known before the body is read: the key, or the address if the key is unknown.
    func spender(of signature: Credentials.Signature, _ context: ServingRequestContext) -> Throttle.Spender {
        guard let key = access.accounts.serverKey(signature.keyID), key.isLive else { return .address(context.peer) }
        return .serverKey(key.keyID, peer: context.peer)
    }

    /// The client that another request counts for: the user of a web auth token, else the API token. Requests
    /// without valid credentials count for their address. On an open server, they count for the user they name.
    func spender(of request: Request, _ result: AuthenticationResult, _ context: ServingRequestContext) -> Throttle.Spender {
        if result.refusal != nil { return .address(context.peer) }
        if let session = result.session { return .user(session.user) }
        if let token = result.apiToken { return .apiToken(token.id) }
        if access.mode == .open, let user = CallerResolver.userRecordName(in: request) { return .user(user) }
        return .address(context.peer)
    }
}
