internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import RecordStore
internal import Records
internal import Traffic

/// A request for a feed: which database, which zone, from where.
struct FeedRequest: Sendable {
    let database: any RecordDatabase
    let assets: AssetPlace
    /// `nil` where none is named.
    let zoneID: ZoneID?
    /// Where to begin; `nil` for the beginning, or for now where a feed is followed.
    let since: ChangeToken?
    /// Where to say what is asked and answered; `nil` when nobody keeps it.
    let note: RequestNote?
    private let parameters: [String: String]
    /// `nil` where nobody counts.
    private let memory = RequestMemory.current

    /// Reads the query parameters `zone`, `owner` and `since`, and the header that an event source sends when it comes back.
    init(_ request: Request, database: any RecordDatabase, assets: AssetPlace, note: RequestNote?) throws {
        self.database = database
        self.assets = assets
        self.note = note
        parameters = Dictionary(
            request.uri.queryParameters.map { (String($0.key), String($0.value)) }, uniquingKeysWith: { first, _ in first })
        let owner = parameters["owner"].map { Name($0) }
        zoneID = parameters["zone"].map { ZoneID(zoneName: Name($0), ownerRecordName: owner) }
        let lastEvent = HTTPField.Name("Last-Event-ID").flatMap { request.headers[$0] }
        since = (lastEvent ?? parameters["since"]).flatMap { $0.isEmpty ? nil : ChangeToken(text: $0) }
        if let zoneID { note?.about([zoneID]) }
    }

    func parameter(_ name: String) -> String? { parameters[name] }

    /// - Throws: `RecordError` BAD_REQUEST when no zone is named.
    func requiredZoneID() throws -> ZoneID {
        guard let zoneID else { throw RecordError.unexpectedInput("Expected the query parameter 'zone'") }
        return zoneID
    }

    /// The token for now of the zone, or of the database.
    /// - Throws: `RecordError` BAD_REQUEST where there is no feed.
    func currentToken() async throws -> ChangeToken {
        guard let zoneID else {
            guard let explaining = database as? any TokenExplaining else { throw unable("say where it stands") }
            return try await explaining.currentToken()
        }
        guard case .success(let zone)? = try await database.fetchZones([zoneID]).first else { throw RecordError.zoneNotFound }
        guard let token = zone.syncToken else { throw ZoneRules.noFeed }
        return token
    }

    /// How many changes a playback from `since` will bring, where the engine keeps counts.
    func total() async throws -> Int? {
        let zoneID = try requiredZoneID()
        if let since { return try await (database as? any TokenExplaining)?.explain(since).changesAfter }
        return try await (database as? any RecordCounting)?.counts(in: zoneID).total
    }

    /// A page of a zone's changes.
    func page(of zoneID: ZoneID, since token: ChangeToken?, limit: PageLimit) async throws -> ZoneChangesPage {
        try await database.zoneChanges(ZoneChangesRequest(zoneID, since: token, limit: limit))
    }

    /// Does what comes before a stream begins. What goes wrong there is noted of the pull that the stream would have been.
    func beginning<Value: Sendable>(of zoneID: ZoneID, _ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as RecordError {
            note?.pulled(ServedRequest.Pull(ZoneChangesRequest(zoneID, since: since), error))
            throw error
        }
    }

    /// Makes room for what a stream holds at a time: a page with its text, or the texts of two pages.
    /// - Throws: `RecordError` TRY_AGAIN_LATER when there is none for some seconds.
    func makeRoom(forPagesOf limit: PageLimit) async throws {
        try await memory?.makeRoom(forAnswerOf: 2 * limit.bytes)
    }

    /// Gives that room back, until the next page is made.
    func giveBackRoom() { memory?.giveBackAnswer() }

    func unable(_ what: String) -> RecordError {
        RecordError(.badRequest, "This database can't \(what)")
    }
}
