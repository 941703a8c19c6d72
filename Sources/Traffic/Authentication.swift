/// How a request said who it is, and what became of that. Nothing in it lets anybody in: credentials are named by their ids.
public struct Authentication: Sendable, Hashable {
    /// What a request brought.
    public enum Way: String, Sendable, Hashable, CaseIterable {
        /// No credentials, on a server that needs none: the request speaks for the user it names, or for the developer.
        case open
        /// No credentials, on a server that needs some.
        case nothing
        /// `ckAPIToken` alone.
        case apiToken
        /// `ckWebAuthToken`, with or without `ckAPIToken`.
        case webAuth
        /// The three headers of a server-to-server key.
        case serverKey
        /// A token and a signature, which do not go together.
        case mixed
        /// The administrator's password, the secret of the data folder, or the console's session.
        case administrator
        /// `X-Skylight-Access: owner`, by somebody who may send it.
        case owner
    }

    /// A part of what a signature is of: as it should be and, where that is known, as it was signed.
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

    /// Why credentials were refused. The client is told less.
    public struct Problem: Sendable, Hashable {
        /// What kind it is, such as `body` or `expiredSession`.
        public var kind: String
        /// What is wrong, in a sentence.
        public var sentence: String
        /// What to do.
        public var remedy: String?
        /// What would have been right, and what came instead; `nil` where there is nothing to compare. Of a signature the message that is signed.
        public var expected: String?
        public var received: String?
        /// Whether what the sentence says was proved, rather than found by ruling out all else.
        public var isCertain: Bool
        /// Of a signature: its message part by part; empty when it never came to that.
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
    /// The id of the API token or of the server-to-server key, as the request named it where that is no secret; `nil` when it is not known.
    public var credential: String?
    /// The id of the session that a web auth token is of.
    public var session: String?
    /// Why the credentials were refused; `nil` when they were not.
    public var problem: Problem?

    public init(way: Way, credential: String? = nil, session: String? = nil, problem: Problem? = nil) {
        self.way = way
        self.credential = credential
        self.session = session
        self.problem = problem
    }
}
