/// Why a signature was refused, for the developer whose client made it. CloudKit says none of this.
public struct SignatureProblem: Sendable, Hashable {
    /// What is wrong.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// One of the three headers is missing or empty.
        case incomplete
        /// Nobody registered the key.
        case unknownKey
        case revokedKey
        /// The key is of another container or environment.
        case otherPlace
        /// The date in the header has another form than `yyyy-MM-ddTHH:mm:ssZ`.
        case date
        /// The date is more than ten minutes away.
        case clock
        /// The signature is not base64.
        case encoding
        /// The right message was signed or written down in another way.
        case form
        /// Another body was signed, or its hash was written otherwise.
        case body
        /// Another path or query was signed.
        case target
        /// Another date was signed than the header says.
        case signedDate
        /// Another key made the signature.
        case key
        /// More than one part differs.
        case several
        /// Not to be found out.
        case undetermined
    }

    /// A part of what is signed: as it should be and, where that is known, as it was signed.
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
    /// What is wrong, in one sentence or two.
    public let sentence: String
    /// What would have been right: the message that this server makes of the request, unless the kind says that it is about something else.
    public let expected: String
    /// What came instead, as far as it is known.
    public let received: String
    /// What to change in the client.
    public let remedy: String
    /// Whether it is proved, and not only the best guess.
    public let isCertain: Bool
    /// The message part by part; empty when it never came to that.
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
