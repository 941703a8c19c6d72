/// The authentication of a request, and its outcome. It contains no secrets: credentials appear only by their ids.
public struct Authentication: Sendable, Hashable {
    /// The kind of credentials in a request.
    public enum Way: String, Sendable, Hashable, CaseIterable {
        /// No credentials, on a server that requires none: the request acts as the user that it names, or as the developer.
        case open
        /// No credentials, on a server that requires them.
        case nothing
        /// `ckAPIToken` alone.
        case apiToken
        /// `ckWebAuthToken`, with or without `ckAPIToken`.
        case webAuth
        /// The three headers of a server-to-server key.
        case serverKey
        /// A token and a signature together, which is an error.
        case mixed
        /// The administrator's password, the secret of the data folder, or the console's session.
        case administrator
        /// The header `X-Skylight-Access: owner`, from a client that may use it.
        case owner
    }

    /// A part of a signed message: the expected value and, if known, the value that the client signed.
    public struct Part: Sendable, Hashable {
        public enum State: String, Sendable, Hashable {
            case matches, differs, unknown
        }

        /// `date`, `body hash`, `target`…
        public var name: String
        public var expected: String
        public var received: String?
        public var state: State

        public init(name: String, expected: String, received: String?, state: State) {
            self.name = name
            self.expected = expected
            self.received = received
            self.state = state
        }
    }

    /// The reason why credentials were refused. It has more detail than the answer to the client.
    public struct Problem: Sendable, Hashable {
        /// The kind of problem, such as `body` or `expiredSession`.
        public var kind: String
        /// The problem, in a sentence.
        public var sentence: String
        /// The remedy.
        public var remedy: String?
        /// The expected value, compared with ``received``; `nil` if there is nothing to compare. For a signature, the message to sign.
        public var expected: String?
        public var received: String?
        /// True if the cause is proved, rather than inferred by exclusion.
        public var isCertain: Bool
        /// The parts of a signed message; empty if the message was not checked.
        public var parts: [Part]

        public init(
            kind: String, sentence: String, remedy: String? = nil, expected: String? = nil, received: String? = nil, isCertain: Bool = true,
            parts: [Part] = []
        ) {
            self.kind = kind
            self.sentence = sentence
            self.remedy = remedy
            self.expected = expected
            self.received = received
            self.isCertain = isCertain
            self.parts = parts
        }
    }

    public var way: Way
    /// The id of the API token or server-to-server key; `nil` if it is unknown.
    public var credential: String?
    /// The id of the web auth token's session.
    public var session: String?
    /// The reason why the credentials were refused; `nil` if they were not.
    public var problem: Problem?

    public init(way: Way, credential: String? = nil, session: String? = nil, problem: Problem? = nil) {
        self.way = way
        self.credential = credential
        self.session = session
        self.problem = problem
    }
}
