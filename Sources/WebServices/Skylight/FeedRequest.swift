internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import RecordStore
internal import Records
internal import Synchronization
internal import Traffic

/// A request for a feed: the database, the zone and the start token.
struct FeedRequest: Sendable {
    let database: any RecordDatabase
    let assets: RequestAssets
    let notifier: Notifier
    /// `nil` if the request names no zone.
    let zoneID: ZoneID?
    /// The start token. `nil` means the beginning, or the present for a live feed.
    let since: ChangeToken?
    /// The request's entry in the request log; `nil` if the request is not logged.
    let note: RequestNote?
    private let parameters: [String: String]
    /// `nil` if the server does not limit memory.
    private let memory = RequestMemory.current

    /// Reads the query parameters `zone`, `owner` and `since`, and the header `Last-Event-ID` that an event source sends when it reconnects.
    init(_ request: Request, database: any RecordDatabase, assets: RequestAssets, notifier: Notifier, note: RequestNote?) throws {
        self.database = database
        self.assets = assets
        self.notifier = notifier
        self.note = note
        parameters = Dictionary(
            request.uri.queryParameters.map { (String($0.key), String($0.value)) }, uniquingKeysWith: { first, _ in first })
        let owner = parameters["owner"].map { Name($0) }
        zoneID = parameters["zone"].map { ZoneID(zoneName: Name($0), ownerRecordName: owner) }
        let lastEvent = request.headers[.lastEventID]
        since = (lastEvent ?? parameters["since"]).flatMap { $0.isEmpty ? nil : ChangeToken(text: $0) }
        if let zoneID { note?.about([zoneID]) }
    }

    func parameter(_ name: String) -> String? { parameters[name] }

    /// - Throws: `RecordError` BAD_REQUEST if the request names no zone.
    func requiredZoneID() throws -> ZoneID {
        guard let zoneID else { throw RecordError.unexpectedInput("Expected the query parameter 'zone'") }
        return zoneID
    }

    /// A page of a zone's changes.
    func page(of zoneID: ZoneID, since token: ChangeToken?, limit: PageLimit) async throws -> ZoneChangesPage {
        try await database.zoneChanges(ZoneChangesRequest(zoneID, since: token, limit: limit))
    }

    /// Runs the work before a stream begins. Errors are logged as a failed pull of the stream.
    func beginning<Value: Sendable>(of zoneID: ZoneID, _ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as RecordError {
            note?.pulled(ServedRequest.Pull(ZoneChangesRequest(zoneID, since: since), error))
            throw error
        }
    }

    /// Reserves the memory that a stream needs while it reads: the text of a page that is being sent, and the page after it.
    /// - Throws: `RecordError` TRY_AGAIN_LATER if there is not enough memory for some seconds.
    func makeRoom(forPagesOf limit: PageLimit) async throws {
        try await memory?.makeRoom(forAnswerOf: 2 * limit.bytes)
    }

    /// Releases that memory until the stream reads again.
    func giveBackRoom() { memory?.giveBackAnswer() }
}

/// Holds the first page of a stream until it is sent, so that a stream of hours does not keep it in memory.
final class FirstPage<Page: FeedPage>: Sendable {
    private let page: Mutex<Page?>

    init(_ page: Page) {
        self.page = Mutex(page)
    }

    func take() -> Page? { page.withLock { $0.take() } }
}
