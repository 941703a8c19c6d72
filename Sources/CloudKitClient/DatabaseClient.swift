public import Records

/// A database of a container. A value: copies with other deadlines and observers share the connections.
///
/// Methods throw ``CloudKitFailure`` if a request fails as a whole, and `CancellationError` if the task is cancelled
/// while it reads. A save that was under way throws ``CloudKitFailure/Kind/answerLost(_:)`` then. Items that fail alone
/// are in the answers.
public struct DatabaseClient: Sendable {
    /// The maximum number of items in a request, and of records in an answer.
    public static let itemLimit = 200

    /// The client whose connections and credentials the database uses.
    public let container: ContainerClient
    /// Public, private or shared. Credentials may not reach all three.
    public let scope: DatabaseScope
    var options = CallOptions()

    init(_ container: ContainerClient, _ scope: DatabaseScope) {
        self.container = container
        self.scope = scope
    }

    /// The same database, with a time by which each answer must be there, repetitions included.
    public func until(_ deadline: ContinuousClock.Instant) -> DatabaseClient {
        var client = self
        client.options.deadline = deadline
        return client
    }

    /// The same database, with a time after which a file is given up that does not move, repetitions included. A
    /// deadline may end it earlier.
    public func withFilePatience(_ patience: Duration) -> DatabaseClient {
        var client = self
        client.options.filePatience = patience
        return client
    }

    /// The same database, with an observer of its requests. Earlier observers are told too.
    /// - Parameter observer: is called where the request runs, so it must be quick.
    public func observing(_ observer: @escaping @Sendable (RequestEvent) -> Void) -> DatabaseClient {
        var client = self
        let earlier = options.observer
        client.options.observer = { event in
            earlier?(event)
            observer(event)
        }
        return client
    }

    /// Calls any service of the database: for those without a method here, such as `assets/rereference`.
    /// - Parameters:
    ///   - action: such as `assets/rereference`.
    ///   - body: the request's object; `nil` sends a GET.
    ///   - saves: false if the service only reads, so that a lost answer may be asked for again.
    ///   - parameters: of the query, not encoded.
    /// - Returns: the answer's object. Its items may be errors.
    public func call(
        _ action: String, body: JSONObject?, saves: Bool, parameters: [(name: String, value: String)] = []
    ) async throws -> JSONObject {
        let json = body.map { JSONWriter.bytes(of: .object($0)) }
        let call = ServiceCall(action, under: root, saves ? .saves : .reads, parameters: parameters, body: json)
        return try await container.exchanger.perform(call, options).object
    }

    // MARK: For the families of services

    var root: String { "/database/1/\(container.container)/\(container.environment.rawValue)/\(scope.rawValue)/" }

    /// Sends a request and decodes its answer.
    func send<Answer>(_ call: ServiceCall, _ decode: (JSONObject) throws -> Answer) async throws -> Answer {
        let answered = try await container.exchanger.perform(call, options)
        do {
            return try decode(answered.object)
        } catch let shape as UnexpectedShape {
            let reason = "expected \(shape.expected)"
            throw answered.failure(call.effect == .reads ? .unexpectedAnswer(status: 200, reason) : .answerLost(reason))
        }
    }

    /// Sends the items of a request in parts of ``itemLimit``, one after the other.
    /// - Parameter outcomes: the place of a failure for the outcomes of saves, which must not be lost with the parts
    ///   after them.
    /// - Returns: the answers of all items, in their order.
    /// - Throws: ``CloudKitFailure`` with the part that failed, if there are several.
    func inParts<Item, Answer>(
        _ items: [Item], keeping outcomes: WritableKeyPath<CloudKitFailure, [Result<Answer, ServerError>]>? = nil,
        _ send: (ArraySlice<Item>) async throws -> [Result<Answer, ServerError>]
    ) async throws -> [Result<Answer, ServerError>] {
        var answers: [Result<Answer, ServerError>] = []
        answers.reserveCapacity(items.count)
        for start in stride(from: 0, to: items.count, by: Self.itemLimit) {
            let part = start..<min(start + Self.itemLimit, items.count)
            do {
                answers += try await send(items[part])
            } catch {
                guard items.count > Self.itemLimit else { throw error }
                var failure: CloudKitFailure
                switch error {
                case let known as CloudKitFailure: failure = known
                case is CancellationError where start > 0 && outcomes != nil:
                    failure = CloudKitFailure(.cancelled, action: "records/modify")
                default: throw error
                }
                failure.part = part
                if let outcomes { failure[keyPath: outcomes] = answers }
                throw failure
            }
        }
        return answers
    }
}

// MARK: - Records

/// The outcome of one operation.
public enum ModifiedRecord: Sendable, Hashable {
    /// The record after the save, with the fields that were asked for.
    case saved(ReceivedRecord)
    /// The record is gone.
    case deleted(RecordID)
}

/// A page of a query's records.
public struct RecordsPage: Sendable {
    /// The records in order. A record that could not be read is an error with its name.
    public var records: [Result<ReceivedRecord, ServerError>]
    /// The way to the next page; `nil` after the last one. A page may have fewer records than the limit, or none, and
    /// yet not be the last.
    public var continuationMarker: String?
}

extension DatabaseClient {
    /// The place of a query.
    public enum QueryArea: Sendable, Hashable {
        /// One zone. The shared database has no other queries.
        case zone(ZoneID)
        /// All zones of the database (`zoneWide`).
        case allZones
    }

    /// The reaction to the lost answer of a save.
    public enum LostAnswer: Sendable, Hashable {
        /// Fail with ``CloudKitFailure/Kind/answerLost(_:)``.
        case report
        /// Send the request again, if every operation has the same effect the second time: `forceUpdate`,
        /// `forceReplace` and `forceDelete` of a record whose name is given. A change that another client made in
        /// between is overwritten. Otherwise fail, as with ``report``.
        case repeatIfHarmless
    }

    /// Gets one page of the records that match a query.
    ///
    /// Name system fields as the schema does, such as `___modTime`. CloudKit refuses what has no index, with its own
    /// words.
    /// - Parameters:
    ///   - limit: the number of records, at most 200; `nil` for CloudKit's choice.
    ///   - desiredKeys: the fields to get; `nil` for all, empty for none.
    ///   - continuationMarker: of the page before, with the same query and area.
    public func query(
        _ query: Query, in area: QueryArea = .zone(.default), limit: Int? = nil, desiredKeys: Set<Name>? = nil,
        after continuationMarker: String? = nil
    ) async throws -> RecordsPage {
        let call = try ServiceCall("records/query", under: root) { (writer) throws(CloudKitFailure) in
            try writer.member(query)
            switch area {
            case .zone(let zoneID): writer.member(zoneID: zoneID)
            case .allZones: writer.member("zoneWide", true)
            }
            writer.member(resultsLimit: limit)
            writer.member("desiredKeys", desiredKeys)
            if let continuationMarker { writer.member("continuationMarker", continuationMarker) }
        }
        let zoneID = if case .zone(let zoneID) = area { zoneID } else { ZoneID.default }
        return try await send(call) { answer in
            let records = try answer.objects("records").map { try $0.result { try ReceivedRecord($0, in: zoneID) } }
            return RecordsPage(
                records: records,
                continuationMarker: answer.string("continuationMarker").flatMap { $0.isEmpty ? nil : $0 })
        }
    }

    /// All pages of a query, each asked for when it is needed.
    public func queryPages(
        _ query: Query, in area: QueryArea = .zone(.default), limit: Int? = nil, desiredKeys: Set<Name>? = nil
    ) -> Pages<RecordsPage> {
        Pages(of: "records/query", after: nil, container.pacing) { marker in
            let page = try await self.query(query, in: area, limit: limit, desiredKeys: desiredKeys, after: marker)
            return (page, page.records.isEmpty, page.continuationMarker)
        }
    }

    /// Looks records of one zone up by name, any number of them. Lookups see every save at once, unlike queries.
    /// - Parameter desiredKeys: the fields to get; `nil` for all, empty for none.
    /// - Returns: a record or an error per name, in their order. A missing record is NOT_FOUND.
    public func lookup(
        _ recordNames: [Name], in zoneID: ZoneID = .default, desiredKeys: Set<Name>? = nil
    ) async throws -> [Result<ReceivedRecord, ServerError>] {
        try await inParts(recordNames) { part in
            let call = try ServiceCall("records/lookup", under: root, items: "records") {
                (writer) throws(CloudKitFailure) in
                try writer.member("records", part) { writer, recordName in writer.member("recordName", recordName) }
                writer.member(zoneID: zoneID)
                writer.member("desiredKeys", desiredKeys)
            }
            return try await send(call) { answer in
                try answer.objects("records", count: part.count).map {
                    try $0.result { try ReceivedRecord($0, in: zoneID) }
                }
            }
        }
    }

    /// Saves and deletes records of one zone. More than 200 operations are sent in parts, one after the other.
    /// - Parameters:
    ///   - zoneID: the zone of all operations.
    ///   - atomic: true for all or nothing. CloudKit has this in custom zones only, and only within one request.
    ///   - desiredKeys: the fields to get back; `nil` for all, empty for none.
    ///   - lostAnswer: the reaction to a connection that breaks before the answer is there.
    /// - Returns: an outcome or an error per operation, in their order.
    /// - Throws: ``CloudKitFailure``. If several parts were needed it says which one failed, and has the answers of
    ///   those before.
    public func modify(
        _ operations: [RecordOperation], in zoneID: ZoneID = .default, atomic: Bool, desiredKeys: Set<Name>? = nil,
        ifAnswerIsLost lostAnswer: LostAnswer = .report
    ) async throws -> [Result<ModifiedRecord, ServerError>] {
        let action = "records/modify"
        func invalid(_ reason: String) -> CloudKitFailure { CloudKitFailure(.invalidRequest(reason), action: action) }
        if atomic, operations.count > Self.itemLimit {
            throw invalid(
                "\(operations.count) operations can't be one atomic request: \(Self.itemLimit) is CloudKit's limit")
        }
        for operation in operations {
            if let other = operation.zoneID, other != zoneID {
                throw invalid(
                    "An operation is about the zone '\(other.zoneName)', the request about '\(zoneID.zoneName)'")
            }
            if operation.provenance != nil { throw invalid("CloudKit itself sets who saved a record, and when") }
        }
        return try await inParts(operations, keeping: \.answered) { part in
            let isHarmless = lostAnswer == .repeatIfHarmless && part.allSatisfy(\.hasSameEffectTwice)
            let effect: ServiceCall.Effect = isHarmless ? .savesRepeatably : .saves
            let call = try ServiceCall(action, under: root, effect, items: "records") {
                (writer) throws(CloudKitFailure) in
                try writer.member("operations", part) { (writer, operation) throws(CloudKitFailure) in
                    try writer.members(of: operation)
                }
                writer.member(zoneID: zoneID)
                writer.member("atomic", atomic)
                writer.member("desiredKeys", desiredKeys)
            }
            return try await send(call) { answer in
                try answer.objects("records", count: part.count).map { object in
                    try object.result { object in
                        if object.bool("deleted") == true {
                            return .deleted(try ReceivedDeletion(object, in: zoneID).recordID)
                        }
                        return .saved(try ReceivedRecord(object, in: zoneID))
                    }
                }
            }
        }
    }
}

extension RecordOperation {
    /// True if sending the operation again changes nothing more, unless another client saved the record in between.
    fileprivate var hasSameEffectTwice: Bool {
        recordName != nil && (kind == .forceUpdate || kind == .forceReplace || kind == .forceDelete)
    }
}

// MARK: - Pages

/// The pages of a query or a feed, asked for one after the other as they are needed.
public struct Pages<Page: Sendable>: AsyncSequence, Sendable {
    /// One page. It may be empty and yet not the last.
    public typealias Element = Page
    typealias Fetch = @Sendable (String?) async throws -> (page: Page, isEmpty: Bool, next: String?)

    private let trail: PageTrail
    private let start: String?
    private let fetch: Fetch

    /// - Parameters:
    ///   - start: the marker or token of the first page.
    ///   - fetch: gets a page and the marker of the next one, `nil` after the last.
    init(of action: String, after start: String?, _ pacing: Pacing, _ fetch: @escaping Fetch) {
        trail = PageTrail(of: action, after: start, pacing)
        self.start = start
        self.fetch = fetch
    }

    /// Asks for one page at each call, from the first one on.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let fetch: Fetch
        var trail: PageTrail
        var cursor: String?
        var isAtEnd = false

        /// - Throws: as the method that gets one page; ``CloudKitFailure`` too if the server sends a client in a
        ///   circle, or gives empty pages without end.
        public mutating func next() async throws -> Page? {
            if isAtEnd { return nil }
            let (page, isEmpty, next) = try await fetch(cursor)
            if let next { try await trail.follow(next, isEmpty: isEmpty) }
            cursor = next
            isAtEnd = next == nil
            return page
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(fetch: fetch, trail: trail, cursor: start) }
}

/// The way of a client through pages that only the server ends. It finds circles of any length, waits after empty
/// pages, and ends after too many of them.
package struct PageTrail: Sendable {
    /// The number of empty pages in a row that are followed. A query may look at many records before it finds one.
    package static let emptyLimit = 1000

    private let action: String
    private let pacing: Pacing
    private var pause = EmptyAnswerPause()
    private var emptyPages = 0
    private var cycle: CycleDetector

    init(of action: String, after start: String?, _ pacing: Pacing) {
        self.action = action
        self.pacing = pacing
        cycle = CycleDetector(from: start)
    }

    /// To be called between two pages.
    /// - Parameters:
    ///   - next: the marker or token of the next page.
    ///   - isEmpty: true if the page before it had nothing.
    /// - Throws: ``CloudKitFailure``; `CancellationError` while it waits.
    package mutating func follow(_ next: String, isEmpty: Bool) async throws {
        guard !cycle.isClosed(by: next) else {
            throw failure("more is coming, but the way to it leads back to the same page")
        }
        guard isEmpty else {
            emptyPages = 0
            pause.end()
            return
        }
        emptyPages += 1
        guard emptyPages < Self.emptyLimit else {
            throw failure("\(emptyPages) pages in a row said that more is coming, and had nothing")
        }
        try await pause.wait(pacing)
    }

    private func failure(_ reason: String) -> CloudKitFailure {
        CloudKitFailure(.unexpectedAnswer(status: 200, reason), action: action)
    }
}

extension ContainerClient {
    /// The way through the pages of a service.
    /// - Parameters:
    ///   - action: such as `changes/zone`, for errors.
    ///   - start: the marker or token of the first page.
    package func trail(of action: String, after start: String?) -> PageTrail {
        PageTrail(of: action, after: start, pacing)
    }
}

/// The pauses after answers without content, so that a server that answers at once is not asked thousands of times a
/// second. They double from 10 milliseconds to a quarter of a second.
package struct EmptyAnswerPause: Sendable {
    private static let (first, longest) = (Duration.milliseconds(10), Duration.milliseconds(250))
    private var next = first

    package init() {}

    package mutating func wait(_ pacing: Pacing) async throws {
        defer { next = min(next * 2, Self.longest) }
        try await pacing.pause(next)
    }

    /// Something came.
    package mutating func end() { next = Self.first }
}
