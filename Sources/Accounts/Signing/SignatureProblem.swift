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

    /// A part of the signed message: the expected value and, if known, the signed one.
    public struct Part: Sendable, Hashable {
        public enum State: String, Sendable, Hashable {
            case matches, differs, unknown
        }

        /// `date`, `body hash`, `target`, or `message`, `signature`, `key`.
        public let name: String
        public let expected: String
        public let received: String?
        public let state: State

        public init(name: String, expected: String, received: String?, state: State) {
            self.name = name
            self.expected = expected
            self.received = received
            self.state = state
        }
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
    public let parts: [Part]

    public init(
        _ kind: Kind, _ sentence: String, expected: String, received: String, remedy: String, isCertain: Bool = true, parts: [Part] = []
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
