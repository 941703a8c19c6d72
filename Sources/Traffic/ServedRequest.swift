public import JSON
public import Records

/// One request to the web services as the server saw it: who asked, what was asked, what was answered and how long that took.
public struct ServedRequest: Sendable, Identifiable {
    /// An item of the answer that failed alone, inside of an answer with status 200; or the error of a whole request.
    public struct ItemError: Sendable, Hashable {
        /// The record or zone that the item was about, where it had a name.
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

        /// Whether a token was refused because what changed since can't be told any more.
        public var isExpiredToken: Bool { code == .badRequest && Name(reason) == "client knowledge differs from server knowledge" }
        /// Whether a token was refused because it is none, or one of another feed.
        public var isUnknownToken: Bool { code == .badRequest && Name(reason) == "Unknown sync continuation type" }
    }

    /// One pull of changes that the request asked for.
    public struct Pull: Sendable, Hashable {
        /// `nil` for a pull of the database's list of zones.
        public var zoneID: ZoneID?
        /// The token that the client sent; `nil` when it began anew. A feed that is followed from now on begins at the token for now.
        public var sent: ChangeToken?
        /// The token it was given; `nil` when the pull failed.
        public var given: ChangeToken?
        public var moreComing: Bool
        /// Changes in the answer.
        public var changes: Int
        /// The types that alone were asked for; `nil` for all.
        public var recordTypes: Set<Name>?
        /// The fields that alone were asked for; `nil` for all.
        public var keys: Set<Name>?
        /// Newest first.
        public var reverse: Bool
        /// Why the pull failed.
        public var error: ItemError?

        public init(
            zoneID: ZoneID?, sent: ChangeToken?, given: ChangeToken?, moreComing: Bool, changes: Int, recordTypes: Set<Name>? = nil,
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

    /// How a query found its records.
    public struct Plan: Sendable, Hashable {
        /// The index that found them or gave their order, such as `author QUERYABLE`; `nil` where none did.
        public var index: String?
        /// What was done, in one or two sentences.
        public var sentence: String

        public init(index: String?, sentence: String) {
            self.index = index
            self.sentence = sentence
        }
    }

    /// The same that an error's `uuid` says, in small letters.
    public let id: String
    /// Its place in the order in which requests were noted, from 0; the log sets it.
    public internal(set) var number: Int64 = 0
    /// When its head had arrived.
    public var started: Timestamp
    /// Milliseconds until the answer was made; of a stream, until it ended.
    public var milliseconds: Double = 0
    public var method: String
    /// The target as the client sent it, with its query.
    public var target: String
    /// `records/query`, `changes/zone`…; with `skylight/` before it what goes beyond the protocol; `assets/file` for the bytes of an asset; the
    /// path where no service is known by it.
    public var operation: String
    public var container: ContainerID?
    public var environment: Environment?
    /// `nil` where the path names no database.
    public var scope: DatabaseScope?
    /// Who asked; `nil` when the request was refused before that was known.
    public var userRecordName: Name?
    /// How it said who asks; `nil` when it was refused before that was looked at, or asks nobody's name.
    public var authentication: Authentication?
    public var client: ClientIdentity
    /// The zones it was about, as it named them.
    public var zoneIDs: [ZoneID] = []
    /// The HTTP status; 0 where the connection ended without an answer.
    public var status = 0
    /// Of a request that failed as a whole.
    public var error: ItemError?
    /// Of the items that failed, zones that could not be pulled included.
    public var itemErrors: [ItemError] = []
    /// Records in the answer, changes included.
    public var records = 0
    /// Bytes of the bodies, without content coding.
    public var bytesIn = 0
    public var bytesOut = 0
    /// Whether it has a body that was not read to its end, as that of a request which was refused before.
    public var hasUnreadBody = false
    public var pulls: [Pull] = []
    /// Of a query.
    public var recordType: Name?
    /// How a query was answered; `nil` where it was refused, or the engine does not say.
    public var plan: Plan?
    /// Whether a query goes on with an earlier page.
    public var isContinuation = false
    /// Whether a query asks for what was modified after a moment.
    public var asksByModificationTime = false
    /// Whether it sent a `syncToken` to `zones/changes`, which ignores it: there the token is called `metaSyncToken`.
    public var ignoredSyncToken = false
    /// The names of the rehearsals that shaped the answer, with commas between them.
    public var rehearsals: String?
    /// Whether the answer was sent as it was made, as a playback is.
    public var isStream = false
    /// Whether the connection ended before the answer was complete.
    public var isBrokenOff = false
    /// What gives away a client's mistake; the log sets it, by what it knows of the requests before.
    public internal(set) var smells: [RequestSmell] = []

    public init(id: String, started: Timestamp, method: String, target: String, operation: String, client: ClientIdentity) {
        self.id = id
        self.started = started
        self.method = method
        self.target = target
        self.operation = operation
        self.client = client
    }

    /// The database that the path names, if it names one.
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

    /// Whether it asked for a service that CloudKit does not have.
    public var isBeyondProtocol: Bool { operation.hasPrefix("skylight/") }

    /// When it was last heard of: a stream when it ended, any other request when it began.
    var lastActive: Timestamp {
        isStream ? Timestamp(milliseconds: started.milliseconds.addingSaturated(Int64(min(max(0, milliseconds), 1e15)))) : started
    }

    /// Whether the request or an item of it failed, or the connection ended before the answer.
    public var hasErrors: Bool { status >= 400 || status == 0 || error != nil || !itemErrors.isEmpty }
}
