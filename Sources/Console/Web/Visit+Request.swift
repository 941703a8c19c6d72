internal import Accounts
package import HTTPServing
package import Hummingbird
internal import JSON
internal import RecordStore
internal import Records

extension Visit {
    /// Reads the place from the path and the query string of a request, and loads its data.
    /// - Throws: ``MissingPage`` if the place or the user does not exist. Creates neither.
    package init(_ request: Request, _ context: ServingRequestContext, fields: FormFields, console: Console) async throws {
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
        try await self.init(place, fields: fields, console: console)
    }

    /// - Parameter listed: the containers of the engine, if the page has read them.
    init(
        _ place: Place, fields: FormFields, console: Console, containers listed: [ContainerID]? = nil, stopwatch: Stopwatch = Stopwatch()
    ) async throws {
        let engine = console.engine
        let people = try People(console.accounts, actingAs: place.user)
        var containers = listed ?? [place.address.container]
        if listed == nil, engine.can(.listContainers) { containers = try await stopwatch.measure { try await engine.containers() } }
        guard containers.contains(place.address.container) else {
            throw MissingPage("There is no container \(place.address.container) yet. The first save of a client creates it; so does the start page.")
        }
        let (database, zones, schema) = try await Self.open(place, as: people.actor, engine, stopwatch)
        self.init(
            place: place, fields: fields, database: database, engine: engine, accounts: console.accounts, assets: console.assets,
            log: console.log, stopwatch: stopwatch, people: people, containers: containers, zones: zones, schema: schema)
    }
}
