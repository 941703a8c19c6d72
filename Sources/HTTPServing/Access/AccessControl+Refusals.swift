internal import HTTPTypes
public import Hummingbird
internal import Logging

extension AccessControl {
    /// The ways in which a request can fail to prove that it is the administrator's.
    public enum FailedProof: String, Sendable, Hashable, CaseIterable {
        /// `Authorization: Basic` does not have the administrator's name and password.
        case wrongPassword
        /// `Authorization: Bearer` does not have the secret of the data folder.
        case wrongSecret
        /// The password was not checked, because of too many wrong ones before.
        case tooManyPasswords
        /// `Authorization` has an unknown scheme.
        case unknownScheme

        /// The failed proof of a request that was refused; `nil` if the request had none.
        public init?(of request: Request) {
            guard let authorization = request.headers[.authorization] else { return nil }
            switch authorization.prefix(while: { $0 != " " }).lowercased() {
            case "basic": self = .wrongPassword
            case "bearer": self = .wrongSecret
            default: self = .unknownScheme
            }
        }

        /// The problem as a sentence.
        public var sentence: String {
            switch self {
            case .wrongPassword: "Authorization: Basic does not have the name 'admin' and the administrator's password"
            case .wrongSecret: "Authorization: Bearer does not have the secret in the server's data folder"
            case .tooManyPasswords: "The password was not checked: there were too many wrong ones"
            case .unknownScheme: "Authorization is neither Basic, with the administrator's password, nor Bearer, with the data folder's secret"
            }
        }
    }

    /// Logs a failed attempt to act as the administrator, without the credentials.
    /// - Parameter wasLookedAt: false if the password was not checked because of too many wrong ones.
    /// - Returns: the failed proof; `nil` if the request had none. Nothing is logged then.
    @discardableResult
    public static func noteFailedProof(of request: Request, _ context: ServingRequestContext, wasLookedAt: Bool = true) -> FailedProof? {
        guard var proof = FailedProof(of: request) else { return nil }
        if !wasLookedAt { proof = .tooManyPasswords }
        note(proof, of: request, context)
        return proof
    }

    /// Logs a failed attempt to act as the administrator.
    public static func note(_ proof: FailedProof, of request: Request, _ context: ServingRequestContext) {
        context.logger.notice(
            "The administrator's credentials were refused",
            metadata: [
                "request": "\(context.requestID)", "method": "\(request.method)", "path": "\(request.path)", "peer": "\(context.peer)",
                "problem": "\(proof.rawValue)",
            ])
    }
}
