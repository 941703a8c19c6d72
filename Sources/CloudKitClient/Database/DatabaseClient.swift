package import NIOHTTP1
public import Records

/// A database of a container. A struct: copies with other deadlines and observers share the connections.
///
/// Methods throw ``CloudKitFailure`` if a request fails as a whole, and `CancellationError` if the task is cancelled
/// during a read. If it is cancelled during a save, they throw ``CloudKitFailure/Kind/answerLost(_:)``. Errors of
/// single items are part of the results.
public struct DatabaseClient: Sendable {
    /// The maximum number of items in a request and of records in an answer.
    public static let itemLimit = 200

    /// The client that provides the connections and credentials.
    public let container: ContainerClient
    /// The scope: public, private or shared. The credentials may not give access to all of them.
    public let scope: DatabaseScope
    var options = CallOptions()

    init(_ container: ContainerClient, _ scope: DatabaseScope) {
        self.container = container
        self.scope = scope
    }

    /// Returns the same database with a deadline. Each answer must arrive by then, including repetitions.
    public func until(_ deadline: ContinuousClock.Instant) -> DatabaseClient {
        var client = self
        client.options.deadline = deadline
        return client
    }

    /// Returns the same database with a time limit for stalled file transfers: a transfer fails if no bytes flow for
    /// this time, including repetitions. A deadline may end it earlier.
    public func withFilePatience(_ patience: Duration) -> DatabaseClient {
        var client = self
        client.options.filePatience = patience
        return client
    }

    /// Returns the same database with an additional observer of its requests. Earlier observers are called too.
    /// - Parameter observer: is called synchronously by the request, so it must return quickly.
    public func observing(_ observer: @escaping @Sendable (RequestEvent) -> Void) -> DatabaseClient {
        var client = self
        let earlier = options.observer
        client.options.observer = { event in
            earlier?(event)
            observer(event)
        }
        return client
    }

    /// Returns the same database with additional headers in its requests.
    package func with(_ headers: HTTPHeaders) -> DatabaseClient {
        var client = self
        client.options.headers.add(contentsOf: headers)
        return client
    }

    /// Calls any service of the database, for services that have no method here.
    /// - Parameters:
    ///   - action: the service, such as `assets/rereference`.
    ///   - body: the JSON object of the request; `nil` to send a GET request.
    ///   - saves: false if the service only reads, so that the request may be repeated if its answer is lost.
    ///   - parameters: the query parameters, not percent-encoded.
    /// - Returns: the JSON object of the answer. Its items may be errors.
    public func call(
        _ action: String, body: JSONObject?, saves: Bool, parameters: [(name: String, value: String)] = []
    ) async throws -> JSONObject {
        let json = body.map { JSONWriter.bytes(of: .object($0)) }
        let call = ServiceCall(action, under: root, saves ? .saves : .reads, parameters: parameters, body: json)
        return try await container.exchanger.perform(call, options).object
    }

    // MARK: Used by the services

    /// The services for a database, with the first part of their path.
    package enum Services: String, Sendable {
        /// CloudKit's services.
        case database
        /// Skylight's own services.
        case skylight
    }

    var root: String { root(of: .database) }

    /// The path of services, with a slash at its end.
    package func root(of services: Services) -> String {
        "/\(services.rawValue)/1/\(container.container)/\(container.environment.rawValue)/\(scope.rawValue)/"
    }

    var dialect: Dialect { container.exchanger.configuration.dialect }

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

    /// Sends the items of a request in consecutive parts of at most ``itemLimit``.
    /// - Parameter outcomes: the property of the failure that receives the outcomes of earlier parts, if the request
    ///   saves.
    /// - Returns: the answers of all items, in the order of the items.
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
    /// The record after the save, with the requested fields.
    case saved(ReceivedRecord)
    /// The record was deleted.
    case deleted(RecordID)
}

/// A page of a query's records.
public struct RecordsPage: Sendable {
    /// The records, in the order of the query. A record that could not be read is an error with its name.
    public var records: [Result<ReceivedRecord, ServerError>]
    /// The marker for the next page; `nil` after the last page. Any page may have fewer records than the limit, or
    /// none, without being the last.
    public var continuationMarker: String?
}

extension DatabaseClient {
    /// The zones that a query searches.
    public enum QueryArea: Sendable, Hashable {
        /// One zone. Queries of the shared database require one.
        case zone(ZoneID)
        /// All zones of the database (`zoneWide`).
        case allZones
    }

    /// What to do if the answer to a save is lost.
    public enum LostAnswer: Sendable, Hashable {
        /// Throw ``CloudKitFailure/Kind/answerLost(_:)``.
        case report
        /// Send the request again if every operation has the same effect when it is sent twice: `forceUpdate`,
        /// `forceReplace` and `forceDelete` of records with given names. This may overwrite a change that another
        /// client made in between. Otherwise the same as ``report``.
        case repeatIfHarmless
    }

    /// Fetches one page of the records that match a query.
    ///
    /// System fields have the names of the schema, such as `___modTime`. CloudKit refuses a query without the indexes
    /// it needs.
    /// - Parameters:
    ///   - limit: the maximum number of records, at most 200; `nil` for CloudKit's choice.
    ///   - desiredKeys: the fields to fetch; `nil` for all, empty for none.
    ///   - continuationMarker: the marker of the previous page. The query and area must be the same.
    public func query(
        _ query: Query, in area: QueryArea = .zone(.default), limit: Int? = nil, desiredKeys: Set<Name>? = nil,
        after continuationMarker: String? = nil
    ) async throws -> RecordsPage {
        try await self.query(
            query, of: .database, in: area, limit: limit, bytes: nil, desiredKeys: desiredKeys,
            after: continuationMarker)
    }

    /// - Parameter bytes: the size limit of the page, which only Skylight's own service has.
    package func query(
        _ query: Query, of services: Services, in area: QueryArea, limit: Int?, bytes: Int?, desiredKeys: Set<Name>?,
        after continuationMarker: String?
    ) async throws -> RecordsPage {
        let call = try ServiceCall("records/query", under: root(of: services)) { (writer) throws(CloudKitFailure) in
            try writer.members(
                of: query, dialect, in: area, limit: limit, bytes: bytes, desiredKeys: desiredKeys,
                after: continuationMarker)
        }
        let zoneID = if case .zone(let zoneID) = area { zoneID } else { ZoneID.default }
        return try await send(call) { answer in
            let records = try answer.objects("records").map { try $0.result { try ReceivedRecord($0, in: zoneID) } }
            return RecordsPage(
                records: records,
                continuationMarker: answer.string("continuationMarker").flatMap { $0.isEmpty ? nil : $0 })
        }
    }

    /// Returns all pages of a query. Each page is fetched when it is needed.
    public func queryPages(
        _ query: Query, in area: QueryArea = .zone(.default), limit: Int? = nil, desiredKeys: Set<Name>? = nil
    ) -> Pages<RecordsPage> {
        Pages(of: "records/query", after: nil, container.pacing) { marker in
            let page = try await self.query(query, in: area, limit: limit, desiredKeys: desiredKeys, after: marker)
            return (page, page.records.isEmpty, page.continuationMarker)
        }
    }

    /// Looks up any number of records of one zone by name. Unlike a query, a lookup always returns the latest saved
    /// version.
    /// - Parameter desiredKeys: the fields to fetch; `nil` for all, empty for none.
    /// - Returns: a record or an error for each name, in the order of the names. The error for a missing record is
    ///   NOT_FOUND.
    public func lookup(
        _ recordNames: [Name], in zoneID: ZoneID = .default, desiredKeys: Set<Name>? = nil
    ) async throws -> [Result<ReceivedRecord, ServerError>] {
        try await inParts(recordNames) { part in
            try await lookup(part.map { RecordID(recordName: $0, zoneID: zoneID) }, in: zoneID, desiredKeys)
        }
    }

    /// Looks up at most ``itemLimit`` records of any zones with one request, which only Skylight answers.
    /// - Parameter position: reads an earlier state, which only Skylight's own service does.
    package func lookup(_ recordIDs: [RecordID], desiredKeys: Set<Name>?, asOf position: Int64? = nil) async throws
        -> [Result<ReceivedRecord, ServerError>]
    {
        try await lookup(recordIDs, in: nil, desiredKeys, asOf: position)
    }

    /// - Parameter zoneID: the zone of all records; `nil` to send the zone of each.
    private func lookup(
        _ recordIDs: [RecordID], in zoneID: ZoneID?, _ desiredKeys: Set<Name>?, asOf position: Int64? = nil
    ) async throws -> [Result<ReceivedRecord, ServerError>] {
        let services: Services = position == nil ? .database : .skylight
        let call = try ServiceCall("records/lookup", under: root(of: services), items: "records") {
            (writer) throws(CloudKitFailure) in
            if let position { writer.member("asOf", String(position)) }
            try writer.member("records", recordIDs) { writer, recordID in
                writer.member("recordName", recordID.recordName)
                if zoneID == nil { writer.member(zoneID: recordID.zoneID) }
            }
            if let zoneID { writer.member(zoneID: zoneID) }
            writer.member("desiredKeys", desiredKeys)
        }
        return try await send(call) { answer in
            try zip(answer.objects("records", count: recordIDs.count), recordIDs).map { object, recordID in
                try object.result { try ReceivedRecord($0, in: recordID.zoneID) }
            }
        }
    }

    /// Saves and deletes records of one zone. More than 200 operations are sent in several requests, one after the
    /// other.
    /// - Parameters:
    ///   - zoneID: the zone of all operations.
    ///   - atomic: true to make all changes or none. CloudKit supports this only in custom zones, and only within one
    ///     request.
    ///   - desiredKeys: the fields to return; `nil` for all, empty for none.
    ///   - lostAnswer: what to do if the connection breaks before the answer arrives.
    /// - Returns: an outcome or an error for each operation, in the order of the operations.
    /// - Throws: ``CloudKitFailure``. If there were several requests, it contains the range of the failed one and the
    ///   outcomes of those before.
    public func modify(
        _ operations: [RecordOperation], in zoneID: ZoneID = .default, atomic: Bool, desiredKeys: Set<Name>? = nil,
        ifAnswerIsLost lostAnswer: LostAnswer = .report
    ) async throws -> [Result<ModifiedRecord, ServerError>] {
        func invalid(_ reason: String) -> CloudKitFailure {
            CloudKitFailure(.invalidRequest(reason), action: "records/modify")
        }
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
            return try await modify(part, of: .database, in: zoneID, atomic: atomic, desiredKeys, effect)
        }
    }

    /// Saves and deletes records of any zones with one request, as only Skylight does it. Operations with a provenance
    /// need its own service.
    /// - Parameter zoneID: the zone of operations that name none.
    package func modify(_ operations: [RecordOperation], of services: Services, in zoneID: ZoneID, atomic: Bool)
        async throws -> [Result<ModifiedRecord, ServerError>]
    {
        try await modify(operations[...], of: services, in: zoneID, atomic: atomic, nil, .saves)
    }

    private func modify(
        _ operations: ArraySlice<RecordOperation>, of services: Services, in zoneID: ZoneID, atomic: Bool,
        _ desiredKeys: Set<Name>?, _ effect: ServiceCall.Effect
    ) async throws -> [Result<ModifiedRecord, ServerError>] {
        let action = services == .database ? "records/modify" : "records/restore"
        let call = try ServiceCall(action, under: root(of: services), effect, items: "records") {
            (writer) throws(CloudKitFailure) in
            try writer.member("operations", operations) { (writer, operation) throws(CloudKitFailure) in
                try writer.members(of: operation, in: dialect)
            }
            writer.member(zoneID: zoneID)
            writer.member("atomic", atomic)
            writer.member("desiredKeys", desiredKeys)
        }
        return try await send(call) { answer in
            try zip(answer.objects("records", count: operations.count), operations).map { object, operation in
                let zoneID = operation.zoneID ?? zoneID
                return try object.result { object in
                    if object.bool("deleted") == true {
                        return .deleted(try ReceivedDeletion(object, in: zoneID).recordID)
                    }
                    return .saved(try ReceivedRecord(object, in: zoneID))
                }
            }
        }
    }
}

extension RecordOperation {
    /// True if sending the operation twice has the same effect as sending it once, unless another client saves the
    /// record in between.
    fileprivate var hasSameEffectTwice: Bool {
        recordName != nil && (kind == .forceUpdate || kind == .forceReplace || kind == .forceDelete)
    }
}

// MARK: - Pages

/// The pages of a query or a feed. Each page is fetched when it is needed.
public struct Pages<Page: Sendable>: AsyncSequence, Sendable {
    /// One page. It may be empty without being the last.
    public typealias Element = Page
    typealias Fetch = @Sendable (String?) async throws -> (page: Page, isEmpty: Bool, next: String?)

    private let trail: PageTrail
    private let start: String?
    private let fetch: Fetch

    /// - Parameters:
    ///   - start: the marker or token of the first page.
    ///   - fetch: fetches a page, and returns it with the marker of the next page, or `nil` after the last page.
    init(of action: String, after start: String?, _ pacing: Pacing, _ fetch: @escaping Fetch) {
        trail = PageTrail(of: action, after: start, pacing)
        self.start = start
        self.fetch = fetch
    }

    /// The iterator, which fetches one page for each call.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let fetch: Fetch
        var trail: PageTrail
        var cursor: String?
        var isAtEnd = false

        /// - Throws: the errors of the method that fetches one page; ``CloudKitFailure`` if the server repeats a marker
        ///   or returns too many empty pages.
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

/// Follows a sequence of pages that only the server ends. It detects repeated markers, waits after empty pages, and
/// fails after too many of them.
package struct PageTrail: Sendable {
    /// The maximum number of consecutive empty pages. A query may search many records before it finds one.
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

    /// Moves to the next page. Call it between two pages.
    /// - Parameters:
    ///   - next: the marker or token of the next page.
    ///   - isEmpty: true if the previous page was empty.
    /// - Throws: ``CloudKitFailure`` if the pages do not end; `CancellationError`.
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
    /// Returns a guard that follows the pages of a service.
    /// - Parameters:
    ///   - action: the service, such as `changes/zone`, for error messages.
    ///   - start: the marker or token of the first page.
    package func trail(of action: String, after start: String?) -> PageTrail {
        PageTrail(of: action, after: start, pacing)
    }
}

/// The pauses after empty answers, so that a server that answers at once is not asked thousands of times a second. They
/// double from 10 milliseconds to a quarter of a second.
package struct EmptyAnswerPause: Sendable {
    private static let (first, longest) = (Duration.milliseconds(10), Duration.milliseconds(250))
    private var next = first

    package init() {}

    package mutating func wait(_ pacing: Pacing) async throws {
        defer { next = min(next * 2, Self.longest) }
        try await pacing.pause(next)
    }

    /// Resets the pauses after an answer with content.
    package mutating func end() { next = Self.first }
}
