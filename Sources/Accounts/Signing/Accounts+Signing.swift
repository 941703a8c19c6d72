internal import Crypto
public import Foundation
internal import Records
internal import Synchronization

extension Accounts {
    /// Verifies the signature of a request and explains an invalid one.
    ///
    /// Verifying a valid signature takes as long as hashing the body. An invalid one takes up to some tens of
    /// milliseconds more.
    /// - Parameters:
    /// - knownTargets: paths without queries that the client may have meant: the services of the request's container
    ///   and environment.
    /// - now: the time with which the request's date is compared.
    /// - isUse: `true` for a real request. Its key then counts as used, and its signature is remembered.
    public func verify(_ request: SignedRequest, knownTargets: [String], now: Date, isUse: Bool = true) -> SignatureVerdict {
        verify(request, knownTargets: knownTargets, now: now, isUse: isUse, at: .now)
    }

    /// - Parameter moment: time on the monotonic clock, for limiting diagnoses.
    func verify(
        _ request: SignedRequest, knownTargets: [String], now: Date, isUse: Bool = true, at moment: ContinuousClock.Instant
    ) -> SignatureVerdict {
        let (key, problem) = knownKey(of: request)
        guard let key, let publicKey = signatures.withLock({ $0.publicKey(of: key) }) else {
            return .refused(problem ?? .unknownKey(request.keyID, of: serverKeys(), for: request))
        }
        let diagnosis = SignatureDiagnosis(request, of: key, publicKey, knownTargets: knownTargets, now: now)
        if let signature = diagnosis.signature, let bodyHash = diagnosis.signedBodyHash {
            if let problem = diagnosis.problemOfDateAlone { return .refused(problem) }
            guard isUse else { return .accepted(key) }
            let message = SignatureMemory.Message(keyID: key.keyID, date: request.date, bodyHash: bodyHash, target: request.target)
            signatures.withLock { $0.accepted(signature, message) }
            credentials.withLock { $0.keys[key.keyID]?.lastUsed = Timestamp(now) }
            noteUse(.key(key.keyID))
            return .accepted(serverKey(key.keyID) ?? key)
        }
        let keys = serverKeys()
        let (remembered, others, earlier) = signatures.withLock { memory in
            let others = keys.filter { $0.keyID != key.keyID }.prefix(SignatureDiagnosis.otherKeyLimit).compactMap { other in
                memory.publicKey(of: other).map { (other, $0) }
            }
            return (diagnosis.signature.flatMap { memory.message(of: $0) }, others, memory.latest(of: key.keyID))
        }
        let found = diagnosis.problem(remembered: remembered, otherKeys: others, earlier: earlier) {
            signatures.withLock { $0.diagnoses.take(keyID: key.keyID, at: moment) }
        }
        return .refused(found)
    }

    /// The key of a request, or the reason why there is none.
    private func knownKey(of request: SignedRequest) -> (ServerKey?, SignatureProblem?) {
        if let problem = SignatureProblem.incomplete(request) { return (nil, problem) }
        guard let key = serverKey(request.keyID) else { return (nil, .unknownKey(request.keyID, of: serverKeys(), for: request)) }
        guard key.isLive else { return (nil, .revokedKey(key)) }
        guard key.container == request.container, key.environment == request.environment else { return (nil, .otherPlace(key, request)) }
        return (key, nil)
    }
}
