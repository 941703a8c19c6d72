internal import Records
internal import Text

// Problems that are known before a signature is examined.
extension SignatureProblem {
    private static let headers = "X-Apple-CloudKit-Request-KeyID, X-Apple-CloudKit-Request-ISO8601Date and X-Apple-CloudKit-Request-SignatureV1"

    static func incomplete(_ request: SignedRequest) -> SignatureProblem? {
        let missing = [
            ("X-Apple-CloudKit-Request-KeyID", request.keyID), ("X-Apple-CloudKit-Request-ISO8601Date", request.date),
            ("X-Apple-CloudKit-Request-SignatureV1", request.signature),
        ].filter { $0.1.isEmpty }.map(\.0)
        guard !missing.isEmpty else { return nil }
        return SignatureProblem(
            .incomplete, "A signed request needs three headers; \(missing.joined(separator: " and ")) is missing or empty.",
            expected: headers, received: missing.map { "no \($0)" }.joined(separator: ", "), remedy: "Send all three headers.")
    }

    static func unknownKey(_ keyID: String, of keys: [ServerKey], for request: SignedRequest) -> SignatureProblem {
        let place = "\(request.container) (\(request.environment.rawValue))"
        let here = keys.filter { $0.isLive && $0.container == request.container && $0.environment == request.environment }
        let isID = Hexadecimal.bytes(of: keyID.utf8)?.count == 32
        let form = isID ? "" : " A key ID has 64 hexadecimal digits."
        let known = here.isEmpty ? "No key is registered for \(place)." : "\(here.count == 1 ? "One key is" : "\(here.count) keys are") registered for \(place)."
        return SignatureProblem(
            .unknownKey, "The key '\(keyID.prefix(80))' is not registered.\(form) \(known)",
            expected: here.isEmpty ? "a registered key" : here.prefix(5).map { "\($0.keyID) (\($0.name))" }.joined(separator: "\n"),
            received: String(keyID.prefix(80)),
            remedy: here.isEmpty
                ? "Register the public key of \(place) with 'skylight key register', and send the key ID that it prints."
                : "Send the ID of the key that signs the request, or register its public key with 'skylight key register'.")
    }

    static func revokedKey(_ key: ServerKey) -> SignatureProblem {
        SignatureProblem(
            .revokedKey, "The key '\(key.name)' was revoked.", expected: "an active key", received: "\(key.keyID), revoked",
            remedy: "Create a new key pair, register it with 'skylight key register', and sign with it.")
    }

    static func otherPlace(_ key: ServerKey, _ request: SignedRequest) -> SignatureProblem {
        SignatureProblem(
            .otherPlace,
            "The key '\(key.name)' is registered for \(key.container) (\(key.environment.rawValue)), and the request is for \(request.container) "
                + "(\(request.environment.rawValue)). A key is valid in one environment of one container.",
            expected: "\(key.container)/\(key.environment.rawValue)", received: "\(request.container)/\(request.environment.rawValue)",
            remedy: "Send the request to the key's own environment, or register the same public key here too: it gets its own ID.")
    }
}
