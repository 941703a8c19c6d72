internal import Accounts
internal import CloudKitClient
public import RecordStore
public import Records

extension RecordError {
    /// CloudKit's own error, with its text. A code that is not documented stays in the text.
    init(_ error: ServerError) {
        let retryAfter = error.retryAfter.map { Int(clamping: $0.components.seconds) }
        if let code = error.code {
            self.init(code, error.reason, retryAfter: retryAfter)
        } else {
            self.init(error.isTemporary ? .tryAgainLater : .badRequest, "\(error)", retryAfter: retryAfter)
        }
    }

    /// A request that failed as a whole.
    init(_ failure: CloudKitFailure, at connection: ContainerConnection) {
        switch failure.kind {
        case .refused(let error):
            self.init(error)
            if let advice = failure.advice { reason += ". \(advice)" }
            if let signed = failure.signed { reason += ". Signed: \(signed)" }
            // No code is documented for a token that has ended.
            if error.code == .authenticationFailed, case .webAuth = connection.credentials {
                reason += ". If the sign-in of \(connection.place) has ended, sign in again with skylight connect \(connection.container)"
            }
        case .throttled(let error):
            self.init(error)
        case .signInRequired(let error):
            self.init(
                .authenticationRequired,
                "\(error.reason). The sign-in of \(connection.place) has ended; sign in again with skylight connect \(connection.container)")
        case .unreachable, .untrusted, .connectionLost, .closed, .cancelled:
            self.init(.tryAgainLater, "CloudKit did not answer: \(failure)")
        case .answerLost, .answerTooLarge, .unexpectedAnswer, .assetRefused:
            self.init(.internalError, "\(failure)")
        case .invalidRequest(let reason):
            self.init(.badRequest, reason)
        }
    }

    /// Any error of the client.
    init(_ error: any Error, at connection: ContainerConnection) {
        switch error {
        case let error as RecordError: self = error
        case let error as CloudKitFailure: self.init(error, at: connection)
        default: self.init(.internalError, "\(error)")
        }
    }

    /// The error for a capability that CloudKit's protocol does not have.
    static func notInCloudKit(_ capability: Capability) -> RecordError {
        RecordError(.badRequest, "A container in iCloud can't \(capability.rawValue): CloudKit's protocol has nothing for it")
    }

    /// The capability that an error says CloudKit's protocol lacks; `nil` for any other error.
    public static func missingInCloudKit(_ error: RecordError) -> Capability? {
        Capability.allCases.first { notInCloudKit($0) == error }
    }

    /// The error for deleting or renaming a connected container.
    static func cannotEdit(_ container: ContainerID) -> RecordError {
        RecordError(.badRequest, "\(container) is in iCloud, where Skylight can't delete or rename it; skylight disconnect \(container) forgets the connection")
    }

    /// The error for an environment without a connection.
    static func notConnected(_ container: ContainerID, _ environment: Environment) -> RecordError {
        RecordError(
            .notFound,
            "\(container) is not connected in \(environment.rawValue); connect it with skylight connect \(container) --environment \(environment.rawValue)")
    }
}
