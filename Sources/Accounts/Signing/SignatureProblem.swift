package import Records

/// Explains to the developer of a client why a signature was rejected. CloudKit gives no such explanation.
public struct SignatureProblem: Sendable, Hashable {
    /// The kind of a problem.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// One of the three headers is missing or empty.
        case incomplete
        /// The key is not registered.
        case unknownKey
        case revokedKey
        /// The key belongs to another container or environment.
        case otherPlace
        /// The date does not have the format `yyyy-MM-ddTHH:mm:ssZ`.
        case date
        /// The date differs by more than ten minutes.
        case clock
        /// The signature is not base64.
        case encoding
        /// The correct message was signed or encoded in another way.
        case form
        /// Another body was signed, or its hash was encoded differently.
        case body
        /// Another path or query was signed.
        case target
        /// The signed date differs from the header.
        case signedDate
        /// The signature was made with another key.
        case key
        /// More than one part differs.
        case several
        /// The cause could not be determined.
        case undetermined
    }

    public let kind: Kind
    /// The problem in one or two sentences.
    public let sentence: String
    /// The expected value: the message that the server computes for the request, unless the kind implies something
    /// else.
    public let expected: String
    /// The received value, as far as it is known.
    public let received: String
    /// How to correct the client.
    public let remedy: String
    /// True if the cause is proved, false if it is a guess.
    public let isCertain: Bool
    /// The parts of the message; empty if the check ended earlier.
    package let parts: [SignedPart]

    package init(
        _ kind: Kind, _ sentence: String, expected: String, received: String, remedy: String, isCertain: Bool = true,
        parts: [SignedPart] = []
    ) {
        self.kind = kind
        self.sentence = sentence
        self.expected = expected
        self.received = received
        self.remedy = remedy
        self.isCertain = isCertain
        self.parts = parts
    }
}

/// The result of verifying the signature of a request.
public enum SignatureVerdict: Sendable, Hashable {
    case accepted(ServerKey)
    case refused(SignatureProblem)
}

// MARK: - Known problems

// Problems that are known before a signature is examined.
extension SignatureProblem {
    private static let headers =
        "X-Apple-CloudKit-Request-KeyID, X-Apple-CloudKit-Request-ISO8601Date and X-Apple-CloudKit-Request-SignatureV1"

    static func incomplete(_ request: SignedRequest) -> SignatureProblem? {
        let missing = [
            ("X-Apple-CloudKit-Request-KeyID", request.keyID), ("X-Apple-CloudKit-Request-ISO8601Date", request.date),
            ("X-Apple-CloudKit-Request-SignatureV1", request.signature),
        ].filter { $0.1.isEmpty }.map(\.0)
        guard !missing.isEmpty else { return nil }
        return SignatureProblem(
            .incomplete,
            "A signed request needs three headers; \(missing.joined(separator: " and ")) is missing or empty.",
            expected: headers, received: missing.map { "no \($0)" }.joined(separator: ", "),
            remedy: "Send all three headers.")
    }

    static func unknownKey(_ keyID: String, of keys: [ServerKey], for request: SignedRequest) -> SignatureProblem {
        let place = "\(request.container) (\(request.environment.rawValue))"
        let here = keys.filter {
            $0.isLive && $0.container == request.container && $0.environment == request.environment
        }
        let isID = Hexadecimal.bytes(of: keyID.utf8)?.count == 32
        let form = isID ? "" : " A key ID has 64 hexadecimal digits."
        let known =
            here.isEmpty
            ? "No key is registered for \(place)."
            : "\(here.count == 1 ? "One key is" : "\(here.count) keys are") registered for \(place)."
        return SignatureProblem(
            .unknownKey, "The key '\(keyID.prefix(80))' is not registered.\(form) \(known)",
            expected: here.isEmpty
                ? "a registered key" : here.prefix(5).map { "\($0.keyID) (\($0.name))" }.joined(separator: "\n"),
            received: String(keyID.prefix(80)),
            remedy: here.isEmpty
                ? "Register the public key of \(place) with 'skylight key register', and send the key ID that it prints."
                : "Send the ID of the key that signs the request, or register its public key with 'skylight key register'."
        )
    }

    static func revokedKey(_ key: ServerKey) -> SignatureProblem {
        SignatureProblem(
            .revokedKey, "The key '\(key.name)' was revoked.", expected: "an active key",
            received: "\(key.keyID), revoked",
            remedy: "Create a new key pair, register it with 'skylight key register', and sign with it.")
    }

    static func otherPlace(_ key: ServerKey, _ request: SignedRequest) -> SignatureProblem {
        SignatureProblem(
            .otherPlace,
            "The key '\(key.name)' is registered for \(key.container) (\(key.environment.rawValue)), and the request is for \(request.container) "
                + "(\(request.environment.rawValue)). A key is valid in one environment of one container.",
            expected: "\(key.container)/\(key.environment.rawValue)",
            received: "\(request.container)/\(request.environment.rawValue)",
            remedy:
                "Send the request to the key's own environment, or register the same public key here too: it gets its own ID."
        )
    }
}
