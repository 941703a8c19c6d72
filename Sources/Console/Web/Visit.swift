package import Accounts
package import AssetStore
package import HTTPServing
internal import HTTPTypes
internal import Hummingbird
package import RecordStore
package import Records
package import RemoteRecordStore
package import RequestLog
internal import Synchronization

/// One request for a page of a place: its fields, and the data of the place that most pages need.
package struct Visit: Sendable {
    package let console: Console
    package internal(set) var place: Place
    package internal(set) var fields: FormFields
    package internal(set) var database: any RecordDatabase
    /// The earlier state that the page shows; `nil` for the present one.
    package internal(set) var earlier: EarlierState?
    /// The name of the page, if it shows earlier states and the database has them.
    private(set) var pageOfStates: String?
    package let engine: any RecordEngine
    /// The containers in iCloud; `nil` if this console can't connect to any.
    package let connections: ConfirmingConnections?
    /// The connection of the place's container; `nil` for a container of this machine.
    package let connection: ContainerConnection?
    /// The connection of the container that the place's container is the mirror of.
    package let origin: ContainerConnection?
    /// The path and the query of the request.
    let target: String
    /// The origin that the request was sent to, such as `http://localhost:8080`.
    package let server: String
    package let stopwatch: Stopwatch
    /// What this visit changes in its database, if it is one of a form.
    let change: UndoableChange
    package internal(set) var people: People
    package let containers: [ContainerID]
    /// The zones of the database, the default zone first. Empty for a container in iCloud on pages that do not show
    /// them.
    package internal(set) var zones: [Zone]
    /// The reason why the zones of a container in iCloud could not be read.
    package internal(set) var refusal: RecordError?
    /// `nil` if the engine has no readable schema.
    package internal(set) var schema: Schema?

    package var accounts: Accounts { console.accounts }
    package var assets: AssetStores { console.assets }
    /// The log of web service requests.
    package var log: RequestLog { console.log }
    package var changes: UndoableChanges { console.changes }

    /// The types that can be queried, by name.
    package var types: [RecordType] {
        schema?.sortedTypes.filter { $0.name != Schema.usersType } ?? []
    }

    /// The types of the app: without the system's, which are users and shares.
    package var ownTypes: [RecordType] { types.filter { $0.name != Share.recordType } }

    /// The address of this page, without a notice.
    package var here: String { ShownNotice.address(without: target) }

    package var canEditSchema: Bool {
        place.address.environment == .development && present.can(.editSchema)
    }

    /// The display name of the zone.
    package func zoneName(_ zoneID: ZoneID) -> String {
        zoneID.zoneName.string
    }

    /// The owner of the zone, in the shared database.
    package func ownerName(_ zoneID: ZoneID) -> String? {
        guard place.address.scope == .shared, let owner = zoneID.ownerRecordName else { return nil }
        return "of \(people.name(of: owner))"
    }

    /// True if the zone has a feed of changes.
    package func hasFeed(_ zoneID: ZoneID) -> Bool {
        place.hasFeed && !zoneID.isDefault
    }

    /// The zones with a feed.
    package var customZones: [Zone] { zones.filter { hasFeed($0.zoneID) } }

    /// The database of a container in iCloud, with what other databases do not have.
    package func cloudKit() throws -> CloudKitDatabase? { try connections?.connected(place.address) }

    package func measure<Value: Sendable>(_ body: @Sendable () async throws -> Value) async rethrows -> Value {
        try await stopwatch.measure(body)
    }

    /// The download links for the assets of some records; `nil` if none of them has assets, or the engine keeps no
    /// files of this container.
    package func links(toAssetsOf records: some Sequence<StoredRecord>) async throws -> AssetLinks? {
        guard assets.keepsFiles(of: place.address.container), records.contains(where: { $0.fields.mayHoldAssets })
        else { return nil }
        return try await measure {
            try await assets.links(place.address.container, place.address.environment, origin: "")
        }
    }

    /// The record counts by type in a zone; `nil` if the engine does not count.
    package func counts(in zoneID: ZoneID) async throws -> ZoneCounts? {
        guard database.can(.countRecords) else { return nil }
        return try await database.require(.countRecords).counts(in: zoneID)
    }
}

// MARK: - Requests

extension Visit {
    /// Reads the place from the path and the query string of a request, and loads its data.
    /// - Throws: ``MissingPage`` if the place or the user does not exist. Creates neither.
    package init(
        _ asked: ConsoleRequest, fields: FormFields, _ traits: Set<ConsoleRoute.Trait> = [],
        stopwatch: Stopwatch = Stopwatch()
    ) async throws {
        let (request, query) = (asked.request, asked.query)
        let parts = asked.context.parts
        guard parts.count > 3, let container = ContainerID(String(parts[1])),
            let environment = Records.Environment(rawValue: String(parts[2])),
            let scope = DatabaseScope(rawValue: String(parts[3]))
        else {
            throw MissingPage(
                "The address needs a container such as iCloud.com.example.App, development or production, and public, private or shared."
            )
        }
        let place = Place(
            address: DatabaseAddress(container: container, environment: environment, scope: scope),
            user: query.text("user"),
            zone: Place.zone(query["zone"], owner: query["owner"], in: scope))
        try await self.init(
            place, fields: fields.without(ConfirmationView.leaveField), console: asked.console,
            readsZones: traits.contains(.showsZones),
            target: request.head.path ?? place.path,
            server: request.ownOrigin, isChanging: request.method == .post,
            confirmed: request.method == .post ? fields[ConfirmationView.leaveField] : nil,
            stopwatch: stopwatch)
        let page = parts.dropFirst(4).joined(separator: "/")
        guard request.method == .get, Place.showsEarlierStates(page) else { return }
        if database.can(.readEarlierStates) { pageOfStates = page }
        if let point = query.text(EarlierState.parameter) { try await lookBack(to: point) }
    }

    /// - Parameters:
    ///   - readsZones: true if the page shows the zones. iCloud is not asked for them otherwise.
    ///   - listed: the containers of the engine, if the page has read them.
    ///   - isChanging: true to note what is changed in the database.
    ///   - confirmed: the connection whose container somebody agreed to change.
    init(
        _ place: Place, fields: FormFields, console: Console, readsZones: Bool = false, target: String = "/",
        server: String = "", isChanging: Bool = false, confirmed: String? = nil,
        containers listed: [ContainerID]? = nil, stopwatch: Stopwatch = Stopwatch()
    ) async throws {
        let (container, environment) = (place.address.container, place.address.environment)
        let connections = console.connections.map { ConfirmingConnections($0, confirmed: confirmed) }
        let connection =
            connections == nil
            ? nil : console.accounts.connections(of: container).first { $0.environment == environment }
        let origin = connections == nil ? nil : console.accounts.connection(mirroredIn: container, environment)
        let engine: any RecordEngine = if let connections { connections } else { console.engine }
        let people = try People(
            console.accounts, actingAs: connection == nil ? place.user : nil,
            signedIn: (connection ?? origin)?.userRecordName)
        var containers = listed ?? [place.address.container]
        if listed == nil, engine.can(.listContainers) {
            containers = try await stopwatch.measure { try await engine.require(.listContainers).containers() }
        }
        guard containers.contains(place.address.container) else {
            throw MissingPage(
                "There is no container \(place.address.container) yet. A client creates it with its first save, or you create it on the start page."
            )
        }
        let opened = try await Self.open(place, as: people.actor, engine, isHere: connection == nil, stopwatch)
        var zones = opened.zones
        var schema = opened.schema
        var refusal: RecordError?
        // From a schema file that somebody gave. CloudKit tells nothing of it.
        if let connection { schema = try connections?.engine(of: connection)?.learnedIndexes.schema }
        if connection != nil, readsZones {
            do { zones = try await stopwatch.measure { try await opened.database.zones() } } catch let error
                as RecordError
            { refusal = error }
        }
        let change = UndoableChange(at: place)
        self.init(
            console: console, place: place, fields: fields,
            database: isChanging && opened.database.can(.keepJournal)
                ? NotingDatabase(base: opened.database, change: change) : opened.database,
            engine: engine, connections: connections,
            connection: connection, origin: origin,
            target: target, server: server, stopwatch: stopwatch, change: change, people: people,
            containers: containers, zones: zones, refusal: refusal, schema: schema)
    }
}

// MARK: - Other places

extension Visit {
    /// The same visit at another place of the container: another environment, database, user or zone.
    /// - Returns: `nil` if the environment does not exist. Does not create it.
    /// - Throws: ``MissingPage`` if no user has the place's handle.
    package func elsewhere(_ other: Place) async throws -> Visit? {
        var there = self
        (there.place, there.people) = (
            other,
            try People(
                accounts, actingAs: connection == nil ? other.user : nil,
                signedIn: (connection ?? origin)?.userRecordName)
        )
        if other.address == place.address, there.people.actor == people.actor { return there }
        if other.address.environment != place.address.environment, try await !exists(other.address.environment) {
            return nil
        }
        (there.database, there.zones, there.schema) = try await Self.open(
            other, as: there.people.actor, engine, isHere: connection == nil, stopwatch)
        if connection != nil { there.zones = try await measure { [there] in try await there.database.zones() } }
        return there
    }

    /// Opens the database of a place, and reads its zones and its schema.
    /// - Parameter isHere: false for a container in iCloud, which is not asked.
    static func open(
        _ place: Place, as actor: User, _ engine: any RecordEngine, isHere: Bool, _ stopwatch: Stopwatch
    ) async throws -> (database: any RecordDatabase, zones: [Zone], schema: Schema?) {
        try await stopwatch.measure {
            let database = try await engine.database(place.address, as: Caller(userRecordName: actor.userRecordName))
            return (
                database, isHere ? try await database.zones() : [],
                database.can(.showSchema) ? try await database.require(.showSchema).schema() : nil
            )
        }
    }

    /// A database as one of its users sees it.
    package func place(of user: Name, in address: DatabaseAddress) -> Place {
        let handle = people.user(user)?.handle ?? user.string
        return place.with {
            $0.address = address
            $0.user = handle == User.developerHandle ? nil : handle
            ($0.zone, $0.asOf) = (.unspecified, nil)
        }
    }

    /// The same visit with other fields.
    package func with(fields: FormFields) -> Visit {
        var visit = self
        visit.fields = fields
        return visit
    }

    /// True if the environment of the container exists.
    package func exists(_ environment: Records.Environment) async throws -> Bool {
        if environment == place.address.environment { return true }
        return try await measure { try await engine.has(place.address.container, environment) }
    }
}

// MARK: - Users

/// The users of the server, and the acting user.
package struct People: Sendable {
    private let accounts: Accounts
    package let actor: User

    /// - Parameter signedIn: the user of a container in iCloud and of its mirror, who need not be a user of this
    ///   server. `nil` for other containers.
    /// - Throws: ``MissingPage`` if no user has the handle or user record name.
    init(_ accounts: Accounts, actingAs handle: String?, signedIn: Name? = nil) throws {
        if let signedIn, handle == nil || handle == signedIn.string {
            actor =
                accounts.user(recordName: signedIn)
                ?? User(handle: signedIn.string, userRecordName: signedIn, displayName: signedIn.string)
            self.accounts = accounts
            return
        }
        let name = handle ?? User.developerHandle
        guard let actor = accounts.user(handle: name) ?? accounts.user(recordName: Name(name)) else {
            throw MissingPage(
                "There is no user '\(name)'. Create the user on the page Users, or send a request as this user.")
        }
        self.accounts = accounts
        self.actor = actor
    }

    /// All users: the developer first, then sorted by handle. There can be thousands.
    package var users: [User] { accounts.users() }

    var count: Int { accounts.userCount }

    /// The acting user, and then the most recently active users.
    package func recent(_ limit: Int) -> [User] {
        [actor] + accounts.recentUsers(limit).filter { $0 != actor }.prefix(limit - 1)
    }

    package func user(_ recordName: Name) -> User? { accounts.user(recordName: recordName) }

    /// The user with a handle, a user record name or an e-mail address.
    package func user(named name: String) -> User? {
        accounts.user(handle: name) ?? accounts.user(recordName: Name(name)) ?? accounts.user(emailAddress: name)
    }

    /// The user that an invitation names. Users have no telephone numbers.
    package func user(invitedBy address: LookupInfo) -> User? {
        address.userRecordName.flatMap { accounts.user(recordName: $0) }
            ?? address.emailAddress.flatMap { accounts.user(emailAddress: $0) }
    }

    /// The display name, or the record name of an unknown user.
    package func name(of recordName: Name) -> String {
        user(recordName)?.displayName ?? recordName.string
    }
}

// MARK: - Time

/// Measures the total time that a page waits for its database.
package final class Stopwatch: Sendable {
    private let total = Mutex<Duration>(.zero)
    /// The part of it that is CloudKit's.
    let cloudKit: CloudKitMeter

    /// - Parameter time: for all requests to CloudKit, from now; `nil` to limit each request alone.
    package init(cloudKitWithin time: Duration? = nil) {
        cloudKit = CloudKitMeter(within: time)
    }

    package func measure<Value: Sendable>(_ body: @Sendable () async throws -> Value) async rethrows -> Value {
        let start = ContinuousClock.now
        defer { add(.now - start) }
        return try await CloudKitMeter.$current.withValue(cloudKit, operation: body)
    }

    private func add(_ duration: Duration) {
        total.withLock { $0 += duration }
    }

    package var elapsed: Duration { total.withLock { $0 } }
}

extension Duration {
    var milliseconds: Double {
        Double(components.seconds) * 1000 + Double(components.attoseconds) / 1e15
    }

    /// The milliseconds in the format of page footers: `0.04`, `1.8`, `212`, `30,017`.
    package var millisecondsText: String {
        let milliseconds = milliseconds
        let digits = milliseconds < 1 ? 2 : milliseconds < 100 ? 1 : 0
        return milliseconds < 1000 || milliseconds >= 1e15
            ? Digits.fixed(milliseconds, digits) : Digits.grouped(Int64(milliseconds.rounded()))
    }
}

// MARK: - Memory

extension RequestMemory {
    /// Makes sure that there is room for an answer with some records, as soon as they are read.
    package static func prepareAnswer(with records: some Sequence<StoredRecord>) throws(Shortage) {
        // The records, and the text that is made of them.
        try current?.prepareAnswer(of: 2 * records.reduce(0) { $0 + $1.fields.bytes.count })
    }
}
