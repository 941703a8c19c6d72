public import Records

/// One request to the web services: its client, content, answer and duration.
public struct ServedRequest: Sendable, Identifiable {
    /// The error of a single item in an answer with status 200, or of a whole request.
    public struct ItemError: Sendable, Hashable {
        /// The name of the record or zone; `nil` if the item has none.
        public var name: Name?
        public var code: ServerErrorCode
        public var reason: String

        public init(name: Name?, code: ServerErrorCode, reason: String) {
            self.name = name
            self.code = code
            self.reason = reason
        }

        public init(_ error: RecordError, name: Name? = nil) {
            self.init(name: name, code: error.code, reason: error.reason)
        }

        /// The row of the catalogue of errors for this code and text; `nil` if there is none.
        public var known: KnownReason? { KnownReason(code, reason) }
    }

    /// One pull of changes in the request.
    public struct Pull: Sendable, Hashable {
        /// The zone; `nil` for a pull of the database's zone list.
        public var zoneID: ZoneID?
        /// The token in the request; `nil` if the pull starts from the beginning. A client that only wants future
        /// changes starts with the current token.
        public var sent: ChangeToken?
        /// The token in the answer; `nil` if the pull failed.
        public var given: ChangeToken?
        public var moreComing: Bool
        /// The number of changes in the answer.
        public var changes: Int
        /// The requested record types; `nil` for all.
        public var recordTypes: Set<Name>?
        /// The requested fields; `nil` for all.
        public var keys: Set<Name>?
        /// True for a pull with the newest changes first.
        public var reverse: Bool
        /// The error of the pull; `nil` if it succeeded.
        public var error: ItemError?

        public init(
            zoneID: ZoneID?, sent: ChangeToken?, given: ChangeToken?, moreComing: Bool, changes: Int,
            recordTypes: Set<Name>? = nil,
            keys: Set<Name>? = nil, reverse: Bool = false, error: ItemError? = nil
        ) {
            self.zoneID = zoneID
            self.sent = sent
            self.given = given
            self.moreComing = moreComing
            self.changes = changes
            self.recordTypes = recordTypes
            self.keys = keys
            self.reverse = reverse
            self.error = error
        }
    }

    /// A refused save that would be refused again.
    public struct Refusal: Sendable, Hashable {
        /// A hash of the save and its error. In one run of the server, it is equal for the same save with the same
        /// outcome.
        public let id: Int
        /// True if another client saved the record first.
        public let isConflict: Bool

        /// - Parameter recordChangeTag: the change tag that the client sent.
        /// - Returns: `nil` for temporary errors, which may not occur at the next attempt.
        public init?(_ error: RecordError, recordName: Name?, zoneID: ZoneID, recordChangeTag: String?) {
            var hasher = Hasher()
            hasher.combine(recordName)
            hasher.combine(zoneID)
            switch error.code {
            case .conflict:
                // A save without a change tag cannot have a stale one.
                guard let recordChangeTag else { return nil }
                hasher.combine(recordChangeTag)
                isConflict = true
            case .badRequest, .accessDenied, .notFound:
                hasher.combine(Name(error.reason))
                isConflict = false
            default: return nil
            }
            id = hasher.finalize()
        }
    }

    /// The execution plan of a query. Its texts are created only when they are read, because few requests are
    /// inspected.
    public struct Plan: Sendable, Equatable {
        private let indexText: @Sendable () -> String?
        private let sentenceText: @Sendable () -> String

        /// - Parameters: are evaluated whenever ``index`` or ``sentence`` is read. The values that they capture stay in
        ///   memory with the request, so these must be small.
        public init(
            index: @escaping @autoclosure @Sendable () -> String?,
            sentence: @escaping @autoclosure @Sendable () -> String
        ) {
            indexText = index
            sentenceText = sentence
        }

        /// The index that found the records or provided their order, such as `author QUERYABLE`; `nil` if no index was
        /// used.
        public var index: String? { indexText() }
        /// A description of the execution, in one or two sentences.
        public var sentence: String { sentenceText() }

        public static func == (left: Plan, right: Plan) -> Bool {
            left.index == right.index && left.sentence == right.sentence
        }
    }

    /// The id, which is also the `uuid` of an error, in lower case.
    public let id: String
    /// The sequence number, from 0. The log sets it.
    public internal(set) var number: Int64 = 0
    /// The time when the request head was received.
    public var started: Timestamp
    /// The duration in milliseconds until the answer was complete; for a stream, until it ended.
    public var milliseconds: Double = 0
    public var method: String
    /// The request target with its query, unchanged.
    public var target: String
    /// The operation, such as `records/query` or `changes/zone`; with the prefix `skylight/` for services
    /// beyond the protocol; `assets/file` for the bytes of an asset; the path if no service matches.
    public var operation: String
    public var container: ContainerID?
    public var environment: Environment?
    /// The scope of the database; `nil` if the path names no database.
    public var scope: DatabaseScope?
    /// The acting user; `nil` if the request was refused before authentication.
    public var userRecordName: Name?
    /// The authentication; `nil` if the request was refused before it, or if the service needs none.
    public var authentication: Authentication?
    public var client: ClientIdentity
    /// The zones in the request, in the form that the client sent.
    public var zoneIDs: [ZoneID] = []
    /// The HTTP status; 0 if the connection ended without an answer.
    public var status = 0
    /// The error of a request that failed as a whole.
    public var error: ItemError?
    /// The errors of failed items, including failed pulls.
    public var itemErrors: [ItemError] = []
    /// The number of records in the answer, including changes.
    public var records = 0
    /// The size of the bodies in bytes, without content encoding.
    public var bytesIn = 0
    public var bytesOut = 0
    /// True if the body was not completely read, for example because the request was refused early.
    public var hasUnreadBody = false
    public var pulls: [Pull] = []
    /// The record type of a query.
    public var recordType: Name?
    /// The execution plan of a query; `nil` if it was refused, or the engine has no plan.
    public var plan: Plan?
    /// True if a query continues from an earlier page.
    public var isContinuation = false
    /// A hash of a query without its marker and limit, to recognize repeated queries. `nil` for a query with a small
    /// limit, such as for a list of the latest records.
    public var query: Int?
    /// True if the answer to a query has a marker for the next page.
    public var hasNextPage = false
    /// The refused saves, at most ``refusalLimit``.
    public var refusals: [Refusal] = []
    /// The maximum number of ``refusals``. A client that repeats more of them repeats these too, so they suffice to
    /// notice it.
    public static let refusalLimit = 8
    /// True for a lookup of one record.
    public var isSingleLookup = false
    /// The seconds after which the client may try again; `nil` if the answer does not state a time.
    public var retryAfter: Int?
    /// The mistakes that the request alone shows, each with the affected names.
    public var mistakes: [RequestWarning: String] = [:]
    /// True if a query filters by a minimum modification time.
    public var asksByModificationTime = false
    /// True if the request sent a `syncToken` to `zones/changes`, which ignores it and expects `metaSyncToken`.
    public var ignoredSyncToken = false
    /// The names of the injected faults that affected the answer, separated by commas.
    public var rehearsals: String?
    /// True if the request was passed on to iCloud, which answered it, or should have.
    public var isPassedOn = false
    /// True if the answer was a stream, such as a playback.
    public var isStream = false
    /// True if the answer was delayed until something changed or a time limit was over.
    public var hasWaited = false
    /// True if the connection ended before the answer was complete.
    public var isBrokenOff = false
    /// The warnings about the client. The log sets them, based on the earlier requests.
    public internal(set) var warnings: [RequestWarning] = []

    public init(
        id: String, started: Timestamp, method: String, target: String, operation: String, client: ClientIdentity
    ) {
        self.id = id
        self.started = started
        self.method = method
        self.target = target
        self.operation = operation
        self.client = client
    }

    /// The database in the path; `nil` if the path names none.
    public var address: DatabaseAddress? {
        get {
            guard let container, let environment, let scope else { return nil }
            return DatabaseAddress(container: container, environment: environment, scope: scope)
        }
        set {
            container = newValue?.container
            environment = newValue?.environment
            scope = newValue?.scope
        }
    }

    /// True if CloudKit has no such service.
    public var isBeyondProtocol: Bool { operation.hasPrefix("skylight/") }

    /// The time of the last activity: the end of a stream, or the start of any other request.
    var lastActive: Timestamp {
        isStream
            ? Timestamp(milliseconds: started.milliseconds.addingSaturated(Int64(min(max(0, milliseconds), 1e15))))
            : started
    }

    /// True if the duration depends on the client: for a stream, or for a request that waited for a change.
    var isTimedByClient: Bool { isStream || hasWaited }

    /// True if the request or one of its items failed, or the connection ended before the answer.
    public var hasErrors: Bool { status >= 400 || status == 0 || error != nil || !itemErrors.isEmpty }
}

// MARK: - Authentication

/// The authentication of a request, and its outcome. It contains no secrets: credentials appear only by their ids.
public struct Authentication: Sendable, Hashable {
    /// The kind of credentials in a request.
    public enum Way: String, Sendable, Hashable, CaseIterable {
        /// No credentials, on a server that requires none. The request acts as the user it names, or as the developer.
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

    /// The reason why credentials were refused. It has more detail than the answer to the client.
    public struct Problem: Sendable, Hashable {
        /// The kind of problem, such as `body` or `expiredSession`.
        public var kind: String
        /// The problem, in a sentence.
        public var sentence: String
        /// The remedy.
        public var remedy: String?
        /// The expected value, compared with ``received``; `nil` if there is nothing to compare. For a signature, the
        /// message to sign.
        public var expected: String?
        public var received: String?
        /// True if the cause is proved, false if it is inferred by excluding other causes.
        public var isCertain: Bool
        /// The parts of a signed message; empty if the message was not checked.
        package var parts: [SignedPart]

        package init(
            kind: String, sentence: String, remedy: String? = nil, expected: String? = nil, received: String? = nil,
            isCertain: Bool = true,
            parts: [SignedPart] = []
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
