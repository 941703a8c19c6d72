internal import Accounts
internal import HTTPServing
internal import Hummingbird
internal import Records

extension Authenticator {
    /// Whose requests a signed request is counted among, by what can be told before its body is read: those with the key that it names, or those
    /// from an address where there is no such key.
    func spender(of signature: Credentials.Signature, _ context: ServingRequestContext) -> Throttle.Spender {
        guard let key = access.accounts.serverKey(signature.keyID), key.isLive else { return .address(context.peer) }
        return .serverKey(key.keyID, peer: context.peer)
    }

    /// Whose requests another request is counted among: a user's, whatever token of the user comes with it; those with an API token alone; or
    /// those from an address, where nothing is known of who asks, and where credentials are no good.
    func spender(of request: Request, _ judgement: Judgement, _ context: ServingRequestContext) -> Throttle.Spender {
        if judgement.refusal != nil { return .address(context.peer) }
        if let session = judgement.session { return .user(session.user) }
        if let token = judgement.apiToken { return .apiToken(token.id) }
        if access.mode == .open, let user = CallerResolver.userRecordName(in: request) { return .user(user) }
        return .address(context.peer)
    }
}
