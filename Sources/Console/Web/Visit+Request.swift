internal import Accounts
internal import CloudKitRecordStore
package import HTTPServing
internal import HTTPTypes
package import Hummingbird
internal import JSON
internal import RecordStore
internal import Records

extension Visit {
    /// Reads the place from the path and the query string of a request, and loads its data.
    /// - Parameter readsZones: true if the page shows the zones. iCloud is not asked for them otherwise.
    /// - Throws: ``MissingPage`` if the place or the user does not exist. Creates neither.
    package init(
        _ request: Request, _ context: ServingRequestContext, fields: FormFields, console: Console, readsZones: Bool = false,
        stopwatch: Stopwatch = Stopwatch()
    ) async throws {
        let parts = context.parts
        let query = request.queryFields
        guard parts.count > 3, let container = ContainerID(String(parts[1])), let environment = Records.Environment(rawValue: String(parts[2])),
            let scope = DatabaseScope(rawValue: String(parts[3]))
        else {
            throw MissingPage("The address needs a container such as iCloud.com.example.App, development or production, and public, private or shared.")
        }
        let place = Place(
            address: DatabaseAddress(container: container, environment: environment, scope: scope), user: query.text("user"),
            zone: Place.zone(query["zone"], owner: query["owner"], in: scope))
        try await self.init(
            place, fields: fields.without(ConfirmationView.leaveField), console: console, readsZones: readsZones, target: request.head.path ?? place.path,
            server: request.ownOrigin, confirmed: request.method == .post ? fields[ConfirmationView.leaveField] : nil, stopwatch: stopwatch)
    }

    /// - Parameters:
    ///   - listed: the containers of the engine, if the page has read them.
    ///   - confirmed: the connection whose container somebody agreed to change.
    init(
        _ place: Place, fields: FormFields, console: Console, readsZones: Bool = false, target: String = "/", server: String = "", confirmed: String? = nil,
        containers listed: [ContainerID]? = nil, stopwatch: Stopwatch = Stopwatch()
    ) async throws {
        let (container, environment) = (place.address.container, place.address.environment)
        let connections = console.connections.map { AskingConnections($0, confirmed: confirmed) }
        let connection = connections == nil ? nil : console.accounts.connections(of: container).first { $0.environment == environment }
        let origin = connections == nil ? nil : console.accounts.connection(mirroredIn: container, environment)
        let engine: any RecordEngine = if let connections { connections } else { console.engine }
        let people = try People(
            console.accounts, actingAs: connection == nil ? place.user : nil, signedIn: (connection ?? origin)?.userRecordName)
        var containers = listed ?? [place.address.container]
        if listed == nil, engine.can(.listContainers) { containers = try await stopwatch.measure { try await engine.containers() } }
        guard containers.contains(place.address.container) else {
            throw MissingPage("There is no container \(place.address.container) yet. A client creates it with its first save, or you create it on the start page.")
        }
        let opened = try await Self.open(place, as: people.actor, engine, isHere: connection == nil, stopwatch)
        var zones = opened.zones
        var schema = opened.schema
        var refusal: RecordError?
        // From a schema file that somebody gave. CloudKit tells nothing of it.
        if let connection { schema = try connections?.engine(of: connection)?.learnedIndexes.schema }
        if connection != nil, readsZones {
            do { zones = try await stopwatch.measure { try await opened.database.zones() } } catch let error as RecordError { refusal = error }
        }
        self.init(
            place: place, fields: fields, database: opened.database, engine: engine, connections: connections, connection: connection, origin: origin,
            target: target, server: server, accounts: console.accounts, assets: console.assets, log: console.log, stopwatch: stopwatch, people: people, containers: containers,
            zones: zones, refusal: refusal, schema: schema)
    }
}
