internal import HTTPTypes
public import Hummingbird
internal import Logging

extension AccessControl {
    /// How a request tried to be the administrator's, and failed.
    public enum FailedProof: String, Sendable, Hashable, CaseIterable {
        /// What stands in `Authorization: Basic` is not the administrator's name and password.
        case wrongPassword
        /// What stands in `Authorization: Bearer` is not the secret of the data folder.
        case wrongSecret
        /// Nobody looked: there were too many wrong passwords before.
        case tooManyPasswords
        /// `Authorization` has a scheme that nobody knows here.
        case unknownScheme

        /// What a request brought that was found wrong; `nil` when it brought nothing.
        public init?(of request: Request) {
            guard let authorization = request.headers[.authorization] else { return nil }
            switch authorization.prefix(while: { $0 != " " }).lowercased() {
            case "basic": self = .wrongPassword
            case "bearer": self = .wrongSecret
            default: self = .unknownScheme
            }
        }

        /// What is wrong, in a sentence.
        public var sentence: String {
            switch self {
            case .wrongPassword: "What stands in Authorization: Basic is not the name 'admin' and the administrator's password"
            case .wrongSecret: "What stands in Authorization: Bearer is not the secret that the data folder holds since this server started"
            case .tooManyPasswords: "The password was not looked at: there were too many wrong ones"
            case .unknownScheme: "Authorization is neither Basic, with the administrator's password, nor Bearer, with the data folder's secret"
            }
        }
    }

    /// Says in the server's log that somebody tried to be the administrator and is not, without what they tried.
    /// - Parameter wasLookedAt: whether it was found wrong; otherwise there were too many before.
    /// - Returns: how they tried; `nil` when the request did not, and the log says nothing.
    @discardableResult
    public static func noteFailedProof(of request: Request, _ context: ServingRequestContext, wasLookedAt: Bool = true) -> FailedProof? {
        guard var proof = FailedProof(of: request) else { return nil }
        if !wasLookedAt { proof = .tooManyPasswords }
        note(proof, of: request, context)
        return proof
    }

    /// Says in the server's log that somebody tried to be the administrator in a way that is known, and is not.
    public static func note(_ proof: FailedProof, of request: Request, _ context: ServingRequestContext) {
        context.logger.notice(
            "The administrator was not let in",
            metadata: [
                "request": "\(context.requestID)", "method": "\(request.method)", "path": "\(request.uri.path)", "peer": "\(context.peer)",
                "problem": "\(proof.rawValue)",
            ])
    }
}
